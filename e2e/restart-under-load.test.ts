import { underLoadJourney } from './journeys/under-load.ts'
import { startService } from './support/service.ts'

underLoadJourney({ title: 'a project under load', open: startService, settings: {}, change: {} })
