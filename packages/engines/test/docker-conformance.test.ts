import { engineConformance } from '@stackquay/engine-api/conformance'
import { dockerHarness } from './docker-harness.ts'

// The suite of commands comes first, and its programs are in its own project's network.
const projects = ['commands', 'conformance']

engineConformance('docker', () => dockerHarness(projects.shift()))
