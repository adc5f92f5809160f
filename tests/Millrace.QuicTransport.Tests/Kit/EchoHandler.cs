using Millrace.Quic.Connections;
using Millrace.Quic.Streams;

namespace Millrace.QuicTransport.Tests.Kit;

/// <summary>Sends back what each stream brings, as far as there is room; a drain closes the connection when no stream is open.</summary>
internal class EchoHandler(QuicServerConnection connection) : QuicServerHandler
{
    public const long ClosedByDrain = 7;

    private bool _isDraining;

    public QuicServerConnection Transport { get; } = connection;

    public override void OnHandshakeComplete(QuicConnection connection)
    {
    }

    public override void OnStream(QuicConnection connection, QuicStream stream, StreamEvents events)
    {
        // Not HasFlag: before it is compiled with optimisations, it allocates.
        if ((events & StreamEvents.Closed) == 0)
        {
            Echo(stream);
        }

        CloseIfDrained();
    }

    public override void OnClosed(QuicConnection connection, in CloseReason reason)
    {
    }

    public override void BeginDrain()
    {
        _isDraining = true;
        CloseIfDrained();
    }

    private static void Echo(QuicStream stream)
    {
        while (stream.TryRead(out ReadOnlySpan<byte> bytes))
        {
            int count = stream.Write(bytes);
            stream.Consume(count);
            if (count < bytes.Length)
            {
                return;
            }
        }

        if (stream.IsReadToEnd)
        {
            stream.Finish();
        }
    }

    private void CloseIfDrained()
    {
        if (_isDraining && Transport.Connection.Streams.Count == 0)
        {
            Transport.Close(ClosedByDrain, "drained");
        }
    }
}
