using Millrace.HttpServer.Exchanges;

namespace Millrace.HttpServer.Tests.Kit;

/// <summary>Counts the exchanges, and keeps nothing of them.</summary>
internal sealed class CountingObserver
{
    private long _reported;

    public long Reported => Volatile.Read(ref _reported);

    public void OnFinished(HttpExchange exchange) => Interlocked.Increment(ref _reported);
}
