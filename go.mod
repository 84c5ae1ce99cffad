module github.com/reshost/reshost

go 1.26.0
