using Millrace.Acme.Protocol;

namespace Millrace.Acme.Renewal;

/// <summary>Asks until an answer is final, with the pauses that the authority wants, else growing ones. Any thread.</summary>
internal sealed class Polling(LoopWaits waits, TimeProvider clock)
{
    private static readonly TimeSpan PauseMin = TimeSpan.FromMilliseconds(100);
    private static readonly TimeSpan PauseMax = TimeSpan.FromSeconds(30);

    /// <param name="first">The first answer, if there is one; otherwise it is asked for at once.</param>
    /// <param name="ask">Asks.</param>
    /// <param name="isFinal">Whether an answer ends it.</param>
    /// <param name="retryAfter">The pause that an answer wants.</param>
    /// <param name="limit">How long it may take.</param>
    /// <param name="tooLate">What has not happened by then, as a sentence.</param>
    /// <param name="cancel">Gives up.</param>
    /// <exception cref="AcmeException">A refusal, or a failure at the limit. Before it, failures that may pass are repeated.</exception>
    /// <exception cref="PollingLimitException">The limit.</exception>
    public async Task<T> UntilAsync<T>(
        T? first, Func<Task<T>> ask, Func<T, bool> isFinal, Func<T, TimeSpan?> retryAfter, TimeSpan limit, string tooLate,
        CancellationToken cancel)
        where T : class
    {
        long begun = clock.GetTimestamp();
        TimeSpan pause = PauseMin;
        T? answer = first;
        while (true)
        {
            AcmeException? failure = null;
            TimeSpan? wanted;
            try
            {
                answer ??= await ask();
                if (isFinal(answer))
                {
                    return answer;
                }

                wanted = retryAfter(answer);
            }
            catch (AcmeException e) when (e.IsTransient())
            {
                failure = e;
                wanted = e.RetryAfter;
            }

            answer = null;
            TimeSpan left = limit - clock.GetElapsedTime(begun);
            TimeSpan wait = RenewalSchedule.Longer(wanted ?? pause, PauseMin);
            if (failure is not null && wait > left)
            {
                throw failure;
            }

            if (left <= TimeSpan.Zero)
            {
                throw new PollingLimitException(tooLate, wanted);
            }

            // Once more at the limit: the answer may be final by then, whatever pause the authority wants.
            await waits.ForAsync(RenewalSchedule.Shorter(wait, left), cancel);
            pause = RenewalSchedule.Shorter(pause * 2, PauseMax);
        }
    }
}

/// <summary>No answer was final in time.</summary>
internal sealed class PollingLimitException(string message, TimeSpan? retryAfter) : Exception(message)
{
    public TimeSpan? RetryAfter => retryAfter;
}
