namespace Millrace.Engine.Accounting;

/// <summary>
/// What has connections that are not in the reactor's table, as those of QUIC are: asked to end some when memory is short. Reactor thread.
/// </summary>
internal interface IMemoryHolder
{
    /// <summary>
    /// Ends connections of an account that hold at least so many bytes each, until the account holds no more than
    /// <paramref name="downToBytes"/>; each moves to <see cref="ClientAccounts.Ending"/>. Returns how many were ended.
    /// </summary>
    int Shed(ClientAccount account, long bytesMin, long downToBytes, int most);
}
