import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { runtimesQuery, servicesQuery } from '../api/queries.ts'
import { ErrorState } from '../components/error-state.tsx'
import { PageHeader } from '../components/panel.tsx'
import { SkeletonList } from '../components/skeleton.tsx'
import { emptyForm } from '../lib/project-form.ts'
import { texts } from '../texts/index.ts'
import { NewProjectForm } from './new-project/new-project-form.tsx'
import { useTitle } from './use-title.ts'

const t = texts.create

export function NewProjectPage() {
  useTitle(t.title)
  const [form, setForm] = useState(emptyForm)
  // Until another engine's offers are here, those of the one before stay on the screen.
  const runtimes = useQuery({ ...runtimesQuery(form.engine), placeholderData: keepPreviousData })
  const services = useQuery({ ...servicesQuery(form.engine), placeholderData: keepPreviousData })
  return (
    <div className="flex w-full max-w-[96rem] flex-col gap-4 px-4 py-5 sm:px-6">
      <PageHeader title={t.title} />
      {runtimes.isPending || services.isPending ? (
        <SkeletonList rows={5} height="h-16" />
      ) : runtimes.isError || services.isError ? (
        <ErrorState
          error={runtimes.error ?? services.error}
          onRetry={() => {
            void runtimes.refetch()
            void services.refetch()
          }}
        />
      ) : (
        <NewProjectForm
          typed={form}
          onChange={setForm}
          waiting={runtimes.isPlaceholderData || services.isPlaceholderData}
          runtimes={runtimes.data.runtimes}
          templates={runtimes.data.templates}
          databases={services.data.items.filter((item) => item.kind === 'database')}
          services={services.data.items.filter((item) => item.kind === 'service')}
        />
      )}
    </div>
  )
}
