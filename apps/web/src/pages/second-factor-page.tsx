import { PageHeader } from '../components/panel.tsx'
import { texts } from '../texts/index.ts'
import { Factors } from './second-factor/factors.tsx'
import { useTitle } from './use-title.ts'

const t = texts.secondFactor

export function SecondFactorPage() {
  useTitle(t.title)
  return (
    <div className="flex w-full max-w-4xl flex-col gap-4 px-4 py-5 sm:px-6">
      <PageHeader title={t.title} detail={t.detail} />
      <Factors />
    </div>
  )
}
