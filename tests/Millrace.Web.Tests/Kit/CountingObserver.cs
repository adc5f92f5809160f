using Millrace.Web.Exchanges;

namespace Millrace.Web.Tests.Kit;

/// <summary>Is told, and keeps nothing of it.</summary>
internal sealed class CountingObserver : IExchangeObserver
{
    private long _told;

    public long Told => Volatile.Read(ref _told);

    public void OnFinished(Exchange exchange) => Interlocked.Increment(ref _told);
}
