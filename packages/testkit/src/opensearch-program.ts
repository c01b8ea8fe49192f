import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

/** The last line that runs with Java 11 and later; 3 wants 21. */
export const openSearchRelease = '2.19.3'
const release = openSearchRelease

/**
 * A home of OpenSearch out of its artifacts in Maven's central repository, once for each machine. Two parts are not
 * published, and have a short equivalent here: the start script, and the class loader for plugins that extend others.
 */
export function assembleOpenSearch(): string {
  const home = join(tmpdir(), `stackquay-opensearch-${release}-${process.getuid?.() ?? 0}`)
  if (existsSync(home)) {
    assert.equal(lstatSync(home).uid, process.getuid?.() ?? 0, `${home} belongs to somebody else`)
    return home
  }
  const folder = mkdtempSync(`${home}.`)
  try {
    const own = join(folder, 'home')
    for (const [name, text] of Object.entries(parts)) {
      mkdirSync(dirname(join(folder, name)), { recursive: true })
      writeFileSync(join(folder, name), text)
    }
    mkdirSync(join(own, 'plugins'))
    run(folder, 'mvn', [
      // Downloads that break off are tried again.
      ...[
        '-B',
        '-q',
        '-Dmaven.wagon.http.retryHandler.count=5',
        `-Dmaven.repo.local=${join(folder, 'repository')}`,
        '-DincludeScope=runtime',
      ],
      ...[`-DoutputDirectory=${join(own, 'lib')}`, 'dependency:copy-dependencies'],
    ])
    for (const name of readdirSync(join(own, 'lib'))) {
      if (/^(netty|transport-netty4)-/.test(name))
        renameSync(join(own, 'lib', name), join(own, 'modules', 'transport-netty4', name))
    }
    run(folder, 'javac', ['-nowarn', '-d', 'classes', 'ExtendedPluginsClassLoader.java'])
    // By this name of the file it has the permission to make class loaders.
    const jar = join(own, 'lib', `opensearch-plugin-classloader-${release}.jar`)
    run(folder, 'jar', ['--create', '--file', jar, '-C', 'classes', '.'])
    chmodSync(join(own, 'bin', 'opensearch'), 0o755)
    run(folder, 'chmod', ['-R', 'a+rX', 'home'])
    if (!existsSync(home)) renameSync(own, home)
    return home
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function run(cwd: string, program: string, args: readonly string[]): void {
  const { error, status, stdout, stderr } = spawnSync(program, args, { cwd, encoding: 'utf8', timeout: 300_000 })
  assert.ok(
    error === undefined,
    `Install Maven for this test: apt-get install -y maven default-jdk-headless (${error})`,
  )
  assert.equal(status, 0, `${program} failed:\n${stdout}${stderr}`)
}

const dependency = (group: string, artifact: string, version: string) =>
  `<dependency><groupId>${group}</groupId><artifactId>${artifact}</artifactId><version>${version}</version></dependency>`

const parts = {
  'pom.xml': `<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>stackquay</groupId><artifactId>opensearch-for-tests</artifactId><version>1</version><packaging>pom</packaging>
<dependencies>
${dependency('org.opensearch', 'opensearch', release)}
${dependency('org.opensearch.plugin', 'transport-netty4-client', release)}
${dependency('org.apache.logging.log4j', 'log4j-core', '2.21.0')}
</dependencies></project>
`,
  'home/modules/transport-netty4/plugin-descriptor.properties': `name=transport-netty4
description=Network
version=${release}
opensearch.version=${release}
java.version=11
classname=org.opensearch.transport.Netty4Plugin
has.native.controller=false
`,
  'home/modules/transport-netty4/plugin-security.policy': `grant {
  permission java.net.SocketPermission "*", "accept,connect,resolve,listen";
  permission java.lang.RuntimePermission "getClassLoader";
  permission java.lang.RuntimePermission "setContextClassLoader";
  permission java.lang.RuntimePermission "accessClassInPackage.sun.nio.ch";
  permission java.lang.RuntimePermission "accessDeclaredMembers";
  permission java.lang.reflect.ReflectPermission "suppressAccessChecks";
};
`,
  'home/config/opensearch.yml': '',
  'home/config/log4j2.properties': 'rootLogger.level = off\n',
  'home/bin/opensearch': `#!/bin/sh
set -eu
home=$(cd "$(dirname "$0")/.." && pwd -P)
conf=\${OPENSEARCH_PATH_CONF:-$home/config}
options=
if [ -e "$conf/jvm.options" ]; then
  options=$(sed -n "s|[$]{OPENSEARCH_TMPDIR}|$OPENSEARCH_TMPDIR|; /^-/p" "$conf/jvm.options")
fi
cd "$home"
exec java $options -Djava.security.manager=allow -Djna.nosys=true -Dfile.encoding=UTF-8 -Dlog4j2.disable.jmx=true \\
  -Dlog4j.shutdownHookEnabled=false -Dio.netty.noUnsafe=true -Dio.netty.noKeySetOptimization=true \\
  -Dopensearch.path.home="$home" -Dopensearch.path.conf="$conf" -Dopensearch.distribution.type=tar \\
  -Dopensearch.bundled_jdk=true -cp "$home/lib/*" org.opensearch.bootstrap.OpenSearch "$@"
`,
  'ExtendedPluginsClassLoader.java': `package org.opensearch.plugins;

import java.security.AccessController;
import java.security.PrivilegedAction;
import java.util.List;

public final class ExtendedPluginsClassLoader extends ClassLoader {
  private final List<ClassLoader> others;

  private ExtendedPluginsClassLoader(ClassLoader parent, List<ClassLoader> others) {
    super(parent);
    this.others = others;
  }

  public static ExtendedPluginsClassLoader create(ClassLoader parent, List<ClassLoader> others) {
    PrivilegedAction<ExtendedPluginsClassLoader> make = () -> new ExtendedPluginsClassLoader(parent, others);
    return AccessController.doPrivileged(make);
  }

  @Override
  protected Class<?> findClass(String name) throws ClassNotFoundException {
    for (ClassLoader other : others) {
      try {
        return other.loadClass(name);
      } catch (ClassNotFoundException absent) {
        // Another may have it.
      }
    }
    throw new ClassNotFoundException(name);
  }
}
`,
}
