import { engineConformance } from '@stackquay/engine-api/conformance'
import { nativeHarness } from './native-harness.ts'

engineConformance('native, level sandbox', () => nativeHarness('sandbox'))
