import { forgejoDeliveries, giteaDeliveries } from './gitea.ts'
import { githubDeliveries } from './github.ts'
import { gitlabDeliveries } from './gitlab.ts'

export { before, type ForgeDelivery, pullNumber } from './delivery.ts'

/** What forges send, by their documentation. */
export const forgeDeliveries = [...githubDeliveries, ...gitlabDeliveries, ...giteaDeliveries, ...forgejoDeliveries]
