import { below, inSource } from '../../server-workload.ts'
import type { SuiteType } from '../suite-type.ts'

/** Rust is no runtime here: cargo is taken from PATH, or from where rustup puts it in the home folder. */
export const cargoTest: SuiteType = {
  runner: 'cargo-test',
  label: 'cargo test',
  runtime: null,
  sourceFiles: (folder) => [inSource(folder, 'Cargo.toml')],
  find: (input) => {
    if (!(inSource(input.folder, 'Cargo.toml') in input.source)) return []
    return [
      {
        name: 'cargo-test',
        label: 'cargo test',
        because: 'Cargo.toml is there',
        reason: null,
        filterHelp: 'Part of a test’s path, such as cart::tests::adds.',
        needsSetup: false,
        command: ({ filter, results }) => {
          const wrapper = input.ourProgram('test-output')
          return {
            argv: [
              wrapper.node,
              wrapper.file,
              '--format=text',
              '--below-home=.cargo/bin',
              `--results=${results}/results.txt`,
              '--',
              'cargo',
              'test',
              '--color=always',
              '--no-fail-fast',
              // The second ends the options of the test program itself.
              ...(filter === null ? [] : ['--', '--', filter]),
            ],
            cwd: below(input.project.path, input.folder),
            results: { format: 'cargo-test', file: 'results.txt' },
          }
        },
      },
    ]
  },
}
