using Microsoft.Extensions.Logging;
using Millrace.Acme.Protocol;
using Millrace.Acme.Storage;

namespace Millrace.Acme.Renewal;

/// <summary>When a certificate is renewed, when a failed attempt is repeated, and how bad a failure is. Computes only.</summary>
internal static class RenewalSchedule
{
    /// <summary>The part of the lifetime after which a certificate is renewed without a window, less up to the jitter.</summary>
    private const double RenewAfter = 2.0 / 3;
    private const double RenewJitter = 0.03;

    /// <summary>The part of the lifetime within which a renewal counts as early.</summary>
    private const double EarlyPart = 1.0 / 3;

    /// <summary>
    /// Two certificates in a row are at least so far apart, whatever windows and clocks say. Doubled with each early renewal: an authority
    /// whose windows are always in the past would else count an order an hour against its rate limits.
    /// </summary>
    private static readonly TimeSpan SuccessIntervalMin = TimeSpan.FromHours(1);

    private static readonly TimeSpan BackoffMin = TimeSpan.FromMinutes(1);
    private static readonly TimeSpan BackoffMax = TimeSpan.FromHours(6);
    private static readonly TimeSpan RateLimitMin = TimeSpan.FromHours(1);
    private static readonly TimeSpan RetryAfterMax = TimeSpan.FromDays(7);
    private static readonly TimeSpan AskAgainMin = TimeSpan.FromMinutes(1);
    private static readonly TimeSpan AskAgainMax = TimeSpan.FromDays(1);

    /// <summary>When the certificate is due, failures aside.</summary>
    public static DateTimeOffset Renewal(StoredCertificate certificate, RenewalState state)
    {
        DateTimeOffset byLifetime = certificate.NotBefore + (certificate.Lifetime * (RenewAfter - (RenewJitter * certificate.Fraction)));

        // A window that is empty, or ends after the certificate, is a mistake of the authority.
        DateTimeOffset due = state is { WindowStart: { } start, WindowEnd: { } end } && start < end && end <= certificate.NotAfter
            ? start + ((end - start) * certificate.Fraction)
            : byLifetime;
        if (state is { Failures: 0, LastAttempt: { } obtained })
        {
            TimeSpan interval = SuccessIntervalMin * Math.Pow(2, Math.Clamp(state.EarlyRenewals, 0, 16));
            DateTimeOffset earliest = obtained + Shorter(interval, certificate.Lifetime * EarlyPart);
            return due > earliest ? due : earliest;
        }

        return due;
    }

    /// <summary>Whether a certificate that is replaced now was in use for a short part of its lifetime only.</summary>
    public static bool IsEarly(StoredCertificate replaced, DateTimeOffset now) =>
        now < replaced.NotBefore + (replaced.Lifetime * EarlyPart);

    /// <summary>When the next attempt is made.</summary>
    /// <param name="wanted">When the certificate is due; null for at once.</param>
    /// <param name="state">The failures.</param>
    /// <param name="now">The time.</param>
    public static DateTimeOffset NextAttempt(DateTimeOffset? wanted, RenewalState state, DateTimeOffset now)
    {
        DateTimeOffset next = wanted ?? now;
        if (state is not { Failures: > 0, NextAttempt: { } repeated, LastAttempt: { } failed })
        {
            return next;
        }

        // Whatever the file says, no failure stops renewal for longer.
        DateTimeOffset latest = failed + RetryAfterMax;
        repeated = repeated < latest ? repeated : latest;
        return repeated > next ? repeated : next;
    }

    /// <summary>
    /// One minute, doubled with each failure up to six hours, and up to a quarter less; what the authority asks for, if it is more.
    /// </summary>
    public static TimeSpan Backoff(int failures, AcmeException? failure)
    {
        TimeSpan doubled = BackoffMin * Math.Pow(2, Math.Clamp(failures - 1, 0, 16));
        TimeSpan wait = Jitter(Shorter(doubled, BackoffMax));
        if (failure?.RetryAfter is { } asked)
        {
            wait = Longer(wait, Shorter(asked, RetryAfterMax));
        }

        return failure?.IsRateLimit() == true ? Longer(wait, RateLimitMin) : wait;
    }

    /// <summary>Whether the authority is asked for a window now.</summary>
    public static bool IsAskDue(RenewalState state, DateTimeOffset now) =>
        state.AskAgain is not { } ask || ask <= now || ask > now + AskAgainMax;

    public static DateTimeOffset AskAgain(DateTimeOffset now, TimeSpan retryAfter) =>
        now + Shorter(Longer(retryAfter, AskAgainMin), AskAgainMax);

    /// <summary>
    /// A failure while much time is left is a warning; with less than a third of what is left at renewal an error; then critical.
    /// </summary>
    public static LogLevel Level(StoredCertificate? certificate, DateTimeOffset now)
    {
        if (certificate is null)
        {
            return LogLevel.Error;
        }

        TimeSpan left = certificate.NotAfter - now;
        return left <= TimeSpan.Zero ? LogLevel.Critical
            : left < certificate.Lifetime * (1 - RenewAfter) / 3 ? LogLevel.Error
            : LogLevel.Warning;
    }

    /// <summary>A state that was written while the clock was ahead: its waits begin now.</summary>
    public static RenewalState WithoutFuture(RenewalState state, DateTimeOffset now)
    {
        return state.LastAttempt is not { } last || last <= now ? state : state with
        {
            LastAttempt = now,
            NextAttempt = now + Shorter(Longer(state.NextAttempt - last ?? TimeSpan.Zero, TimeSpan.Zero), RetryAfterMax),
            AskAgain = null,
        };
    }

    public static TimeSpan Shorter(TimeSpan a, TimeSpan b) => a < b ? a : b;

    public static TimeSpan Longer(TimeSpan a, TimeSpan b) => a > b ? a : b;

    private static TimeSpan Jitter(TimeSpan wait) => wait * (1 - (0.25 * Random.Shared.NextDouble()));
}
