using Millrace.Engine.Connections;

namespace Millrace.Engine.Diagnostics;

/// <summary>The state of a connection as text, for diagnosing one that does not end. Reactor thread.</summary>
internal static class ConnectionDescription
{
    public static string Describe(this Connection connection)
    {
        (SocketReceiver receiver, InputReader reader, SocketSender sender) = (connection.Receiver, connection.Reader, connection.Sender);
        string receive = receiver.IsArmed ? "armed" : receiver.IsStarved ? "waits for a buffer" : "idle";
        return $"slot {connection.Slot}: {connection.Phase}, {connection.OperationsInFlight} operations in flight, "
            + $"{receiver.Bytes} bytes received and {sender.SentBytes} sent; "
            + $"input {receiver.End}, {reader.End} with {reader.Count} bytes, read pending: {reader.IsWaiting}, receive {receive}; "
            + $"send in flight: {sender.IsInFlight}, {connection.Writer.UnsentBytes} bytes unsent, "
            + $"flush pending: {connection.Writer.IsFlushPending}, handler: {connection.Handler.Status}";
    }
}
