namespace Millrace.Engine.Datagrams;

/// <summary>
/// What a <see cref="DatagramSocket"/> calls, on its reactor's thread. Must not throw: an exception ends the reactor. May send, and close
/// the socket, in each call.
/// </summary>
internal interface IDatagramHandler
{
    /// <summary>
    /// Datagrams arrived. Empty ones, and those that were cut, are counted and not passed.
    /// </summary>
    /// <param name="socket">The socket.</param>
    /// <param name="bytes">
    /// One datagram, or several of <paramref name="segmentBytes"/> each, the last of which may be shorter. May be changed (decrypted in
    /// place). Valid within the call.
    /// </param>
    /// <param name="segmentBytes">The size of each datagram but the last.</param>
    /// <param name="from">The sender.</param>
    /// <param name="to">The local address, also where the socket is bound to all.</param>
    /// <param name="ecn">Of all of them.</param>
    void OnReceived(
        DatagramSocket socket, Span<byte> bytes, int segmentBytes, in DatagramAddress from, in DatagramAddress to, DatagramEcn ecn);

    /// <summary>After the last <see cref="OnReceived"/> of an iteration of the loop: the time to send.</summary>
    void OnReceivedAll(DatagramSocket socket);

    /// <summary>After <see cref="DatagramSocket.GetSendBuffer"/> gave an empty span: there is room again.</summary>
    void OnRoom(DatagramSocket socket);

    /// <summary>Nothing is in flight any more, and the descriptor is closed: the last call.</summary>
    void OnClosed(DatagramSocket socket);
}
