import { giteaDeliveries, forgejoDeliveries } from './gitea.ts'
import { githubDeliveries } from './github.ts'
import { gitlabDeliveries } from './gitlab.ts'

export { type ForgeDelivery, before, pullNumber } from './delivery.ts'

/** What forges send, by their documentation. */
export const forgeDeliveries = [...githubDeliveries, ...gitlabDeliveries, ...giteaDeliveries, ...forgejoDeliveries]
