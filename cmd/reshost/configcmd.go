package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/reshost/reshost/cmd/reshost/internal/config"
)

func (a *app) configCommand() *cobra.Command {
	cmd := &cobra.Command{
		SuggestionsMinimumDistance: 2,
		Use:                        "config", Short: "Check and show the configuration",
		Args: noCommand, RunE: help,
	}
	cmd.AddCommand(a.configCheckCommand(), a.configSchemaCommand(), a.configShowCommand())
	return cmd
}

func (a *app) configCheckCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "check",
		Short: "Check the configuration and load its plugins, without serving",
		Args:  exactArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := a.loadConfig()
			if err != nil {
				return err
			}
			if _, err := a.openCertificate(cfg, a.logger(cfg, quietLevel)); err != nil {
				return err
			}
			s, err := a.openReady(cmd.Context(), cfg)
			if err != nil {
				return err
			}
			err = s.close()
			return errors.Join(err, a.printf("%s is in order: %s\n", nameOf(cfg), count(len(cfg.Plugins), "plugin")))
		},
	}
}

func nameOf(cfg *config.Config) string {
	if cfg.File() == "" {
		return "the folder"
	}
	return cfg.File()
}

func (a *app) configSchemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of the configuration",
		Args:  exactArgs(),
		RunE: func(*cobra.Command, []string) error {
			schema, err := config.Schema()
			if err != nil {
				return err
			}
			return a.printf("%s", schema)
		},
	}
}

func (a *app) configShowCommand() *cobra.Command {
	var effective bool
	cmd := a.jsonFlag(&cobra.Command{
		Use:   "show",
		Short: "Print the configuration, secrets masked",
		Args:  exactArgs(),
		RunE: func(*cobra.Command, []string) error {
			cfg, err := a.loadConfig()
			if err != nil {
				return err
			}
			if a.json {
				return a.printf("%s\n", cfg.ShowJSON(effective))
			}
			text, err := cfg.Show(effective)
			if err != nil {
				return err
			}
			return a.printf("%s", text)
		},
	})
	cmd.Flags().BoolVar(&effective, "effective", false, "with all defaults and absolute paths")
	return cmd
}
