namespace Millrace.HttpServer.Exchanges;

/// <summary>
/// Is notified of every finished request, answered or not, when the kernel has taken the last byte of its response or will take no more.
/// Each reactor has its own observer, which is called only on the reactor's thread: it needs no lock, and must neither wait nor throw.
/// </summary>
internal interface IExchangeObserver
{
    /// <param name="exchange">Valid only during the call: it is reused for another request.</param>
    void OnFinished(HttpExchange exchange);
}
