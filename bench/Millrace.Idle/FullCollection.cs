using System.Buffers.Binary;
using System.Net.Sockets;
using System.Text;

namespace Millrace.Idle;

/// <summary>
/// Has another .NET process collect all its garbage, through the diagnostic port that every runtime opens: an event session that asks
/// for the GCHeapCollect keyword begins with a full collection, which is how heap dumps are taken. The server knows nothing of it.
/// </summary>
internal static class FullCollection
{
    private const byte EventPipe = 0x02;
    private const byte StopTracing = 0x01;
    private const byte CollectTracing2 = 0x03;
    private const ulong CollectKeyword = 0x80_0000;
    private const uint Informational = 4;
    private const int HeaderBytes = 20;

    private static ReadOnlySpan<byte> Magic => "DOTNET_IPC_V1\0"u8;

    /// <summary>Tries it on this very process; throws where a runtime takes the request and does not collect.</summary>
    public static void Prove()
    {
        int before = GC.CollectionCount(GC.MaxGeneration);
        Of(Environment.ProcessId);
        if (GC.CollectionCount(GC.MaxGeneration) == before)
        {
            throw new InvalidOperationException("The diagnostic port of this runtime does not collect.");
        }
    }

    /// <summary>Twice: what the first one finds finalizable, the second frees.</summary>
    public static void Of(int process)
    {
        for (int i = 0; i < 2; i++)
        {
            using Socket session = Open(process);
            session.Send(Message(CollectTracing2, Request()));
            ulong id = BinaryPrimitives.ReadUInt64LittleEndian(Response(session));
            // The collection is part of the session's start; its events say when it is over, and are not read here.
            Thread.Sleep(TimeSpan.FromSeconds(1));
            using Socket stop = Open(process);
            byte[] identity = new byte[sizeof(ulong)];
            BinaryPrimitives.WriteUInt64LittleEndian(identity, id);
            stop.Send(Message(StopTracing, identity));
            Drain(session);
            _ = Response(stop);
        }
    }

    private static Socket Open(int process)
    {
        string path = Directory.GetFiles(Path.GetTempPath(), $"dotnet-diagnostic-{process}-*-socket").Single();
        var socket = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified) { ReceiveTimeout = 30_000 };
        socket.Connect(new UnixDomainSocketEndPoint(path));
        return socket;
    }

    private static byte[] Message(byte command, byte[] payload)
    {
        byte[] message = new byte[HeaderBytes + payload.Length];
        Magic.CopyTo(message);
        BinaryPrimitives.WriteUInt16LittleEndian(message.AsSpan(14), (ushort)message.Length);
        message[16] = EventPipe;
        message[17] = command;
        payload.CopyTo(message, HeaderBytes);
        return message;
    }

    private static byte[] Request()
    {
        using var bytes = new MemoryStream();
        using var writer = new BinaryWriter(bytes, Encoding.Unicode);
        writer.Write(64u); // MB of the session's buffer
        writer.Write(1u); // nettrace
        writer.Write((byte)0); // no rundown
        writer.Write(1u); // provider
        writer.Write(CollectKeyword);
        writer.Write(Informational);
        WriteText(writer, "Microsoft-Windows-DotNETRuntime");
        WriteText(writer, "");
        writer.Flush();
        return bytes.ToArray();
    }

    private static void WriteText(BinaryWriter writer, string text)
    {
        writer.Write((uint)(text.Length + 1));
        writer.Write(Encoding.Unicode.GetBytes(text + '\0'));
    }

    /// <summary>The payload of an answer; throws where the runtime refused.</summary>
    private static byte[] Response(Socket socket)
    {
        byte[] header = new byte[HeaderBytes];
        Fill(socket, header);
        byte[] payload = new byte[BinaryPrimitives.ReadUInt16LittleEndian(header.AsSpan(14)) - HeaderBytes];
        Fill(socket, payload);
        return header[17] == 0 ? payload : throw new InvalidOperationException($"The runtime refused to collect: {Convert.ToHexString(payload)}.");
    }

    private static void Fill(Socket socket, byte[] bytes)
    {
        for (int at = 0; at < bytes.Length;)
        {
            int read = socket.Receive(bytes.AsSpan(at));
            at += read > 0 ? read : throw new EndOfStreamException("The runtime closed its diagnostic port.");
        }
    }

    private static void Drain(Socket session)
    {
        byte[] events = new byte[64 * 1024];
        while (session.Receive(events) > 0)
        {
            // The session's events, of no use here, until it ends.
        }
    }
}
