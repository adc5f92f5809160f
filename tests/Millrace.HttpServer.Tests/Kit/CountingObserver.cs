using Millrace.HttpServer.Exchanges;

namespace Millrace.HttpServer.Tests.Kit;

/// <summary>Is told, and keeps nothing of it.</summary>
internal sealed class CountingObserver : IExchangeObserver
{
    private long _reported;

    public long Reported => Volatile.Read(ref _reported);

    public void OnFinished(HttpExchange exchange) => Interlocked.Increment(ref _reported);
}
