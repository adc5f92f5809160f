using Microsoft.Extensions.Logging;
using Millrace.Engine;
using Millrace.Interop;

namespace Millrace.HttpServer.Upstreams;

/// <summary>Logs why exchanges with the upstreams of one group fail, rate-limited. Shared by the reactors. Any thread.</summary>
internal sealed partial class UpstreamLog(ILogger logger)
{
    private readonly ILogger _logger = new NonThrowingLogger(logger);
    private readonly LogRateLimiter _failures = new();

    /// <param name="upstream">The address, or the targets if there was no connection.</param>
    /// <param name="failure">What happened.</param>
    /// <param name="nowMs">The reactors' monotonic clock.</param>
    public void NoteFailure(string upstream, in UpstreamFailure failure, long nowMs)
    {
        if (_failures.Admits(nowMs, out long suppressed))
        {
            Failed(suppressed + 1, upstream, failure.Status, failure.Reason.TrimEnd('.'));
        }
    }

    [LoggerMessage(
        810, LogLevel.Warning, "Requests that an application did not answer: {Count}; the last to {Upstream} ({Status}): {Reason}.")]
    private partial void Failed(long count, string upstream, int status, string reason);
}
