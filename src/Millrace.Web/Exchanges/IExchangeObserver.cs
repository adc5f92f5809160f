namespace Millrace.Web.Exchanges;

/// <summary>
/// Is told of every request that was answered, or would have been, when the last byte of its answer is with the kernel, or none more can
/// be. Each reactor has an observer of its own, which is called on its thread only: it needs no lock, and must neither wait nor throw.
/// </summary>
internal interface IExchangeObserver
{
    /// <param name="exchange">Only for the call: it is used again for another request.</param>
    void OnFinished(Exchange exchange);
}
