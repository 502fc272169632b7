package dynamolocal

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
)

const (
	copyGoal = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"
	mainJar  = "DynamoDBLocal-" + Version + ".jar"

	// pom asks for DynamoDB Local and all that it needs, the native libraries of its database
	// included.
	pom = `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>local</groupId>
  <artifactId>dynamodb-local</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencies>
    <dependency>
      <groupId>software.amazon.dynamodb</groupId>
      <artifactId>DynamoDBLocal</artifactId>
      <version>` + Version + `</version>
    </dependency>
  </dependencies>
</project>
`
)

// fetchedJars returns the folder with the jars and native libraries, and fetches them if they are
// not there.
func fetchedJars(ctx context.Context) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "go-idempotent", "dynamodb-local-"+Version)
	if complete(dir) {
		return dir, nil
	}
	mvn, err := exec.LookPath("mvn")
	if err != nil {
		return "", fmt.Errorf("the jars are not in %s: %w", dir, err)
	}
	fmt.Fprintf(os.Stderr, "dynamolocal: fetching DynamoDB Local %s from Maven Central into %s\n", Version, dir)
	return dir, fetch(ctx, mvn, dir)
}

// fetch fills a folder beside dir and renames it, so that a folder of this name is always complete.
// Of several processes that fetch at once the first one to rename wins.
func fetch(ctx context.Context, mvn, dir string) (err error) {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(filepath.Dir(dir), "fetch-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()

	pomFile, jars := filepath.Join(tmp, "pom.xml"), filepath.Join(tmp, "jars")
	if err := os.WriteFile(pomFile, []byte(pom), 0o600); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, mvn, "-q", "-B", "-f", pomFile, copyGoal, "-DoutputDirectory="+jars)
	var out tail
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("fetch DynamoDB Local with Maven: %w: %s", err, out)
	}
	if !complete(jars) {
		return fmt.Errorf("fetch DynamoDB Local with Maven: %s is missing", mainJar)
	}
	err = os.Rename(jars, dir)
	if errors.Is(err, fs.ErrExist) && complete(dir) {
		return nil
	}
	return err
}

func complete(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, mainJar))
	return err == nil
}
