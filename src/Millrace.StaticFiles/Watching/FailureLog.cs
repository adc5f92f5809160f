using Millrace.Interop;

namespace Millrace.StaticFiles.Watching;

/// <summary>
/// Decides when a recurring failure is logged: once while it lasts and once when it ends, both rate-limited, because failures that clients
/// cause come and go. Any thread.
/// </summary>
internal sealed class FailureLog
{
    private const int Burst = 5;

    private readonly Lock _lock = new();
    private readonly LogRateLimiter _limiter = new(burst: Burst);
    private string? _reported;

    /// <summary>Whether to log the failure now. A suppressed one is logged when it recurs later.</summary>
    public bool ShouldLogFailure(string cause, long nowMs)
    {
        lock (_lock)
        {
            if (_reported == cause || !_limiter.Admits(nowMs))
            {
                return false;
            }

            Volatile.Write(ref _reported, cause);
            return true;
        }
    }

    /// <summary>Notes a success: whether to log that a reported failure ended.</summary>
    public bool ShouldLogRecovery()
    {
        if (Volatile.Read(ref _reported) is null)
        {
            return false;
        }

        lock (_lock)
        {
            bool wasReported = _reported is not null;
            Volatile.Write(ref _reported, null);
            return wasReported;
        }
    }
}
