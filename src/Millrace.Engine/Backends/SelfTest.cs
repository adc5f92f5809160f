using System.Diagnostics;
using System.Runtime.InteropServices;
using Millrace.Interop;
using Millrace.Interop.Memory;
using Millrace.Interop.Sockets;

namespace Millrace.Engine.Backends;

/// <summary>
/// Has a backend do once what reactors will ask of it, and looks at the results: multishot accept, connect, multishot receive into provided
/// buffers, a send, one of two parts, a positional read, cancels, a close. Runs on the thread that made the backend; nothing of it is in
/// flight when it has succeeded.
/// </summary>
internal sealed unsafe class SelfTest
{
    /// <summary>Enough for a machine under load; the operations themselves take microseconds.</summary>
    private static readonly TimeSpan Deadline = TimeSpan.FromSeconds(5);

    /// <summary>How many sockets of a trial have operations that go by a table of files.</summary>
    public const int Sockets = 2;

    private const int TurnMs = 100;
    private const int SpareBytes = 16;

    private static readonly OperationToken AcceptToken = new(OperationKind.Accept, 1, 0);
    private static readonly OperationToken ConnectToken = new(OperationKind.Connect, 1, 0);
    private static readonly OperationToken ReceiveToken = new(OperationKind.Receive, 1, 0);
    private static readonly OperationToken SendToken = new(OperationKind.Send, 1, 0);
    private static readonly OperationToken ReadToken = new(OperationKind.FileRead, 1, 0);

    private readonly Backend _backend;
    private readonly List<Completion> _unclaimed = [];
    private readonly long _start = Stopwatch.GetTimestamp();

    private SelfTest(Backend backend) => _backend = backend;

    private static ReadOnlySpan<byte> Content => "millrace"u8;

    /// <summary>Small: a trial must not fail for memory that reactors would get.</summary>
    public static EngineOptions Options => new()
    {
        SubmissionEntries = 8,
        CompletionEntries = 32,
        ReceiveBuffers = 4,
        ReceiveBufferBytes = 64,
    };

    /// <summary>Null when all went well, else a clause that says what did not.</summary>
    public static string? Run(Backend backend)
    {
        // Not freed after a failure, nor are the descriptors closed: an operation that never completed may still use them.
        var content = new Span<byte>(NativeMemory.Alloc((nuint)Content.Length), Content.Length);
        Content.CopyTo(content);
        byte* spare = (byte*)NativeMemory.AllocZeroed(SpareBytes);
        try
        {
            fixed (byte* bytes = content)
            {
                new SelfTest(backend).Run(bytes, spare);
                NativeMemory.Free(bytes);
            }

            NativeMemory.Free(spare);
            return null;
        }
        catch (SelfTestException failure)
        {
            return failure.Message;
        }
    }

    private void Run(byte* content, byte* spare)
    {
        int listener = Require(SocketCalls.Socket(AddressFamilyNumber.Unix, SocketTypeNumber.Stream), "socket");
        int client = Require(SocketCalls.Socket(AddressFamilyNumber.Unix, SocketTypeNumber.Stream), "socket");
        int file = Require(MemoryCalls.MemoryFile(Content), "memfd_create");
        int server = Connect(listener, client);

        Receive(client, server, content);
        Read(file, spare);
        Cancel(ReceiveToken, "receive");
        Close(client, server);
        Cancel(AcceptToken, "accept");

        _backend.CloseSocket(client);
        _backend.CloseSocket(listener);
        _ = SocketCalls.Close(file);
    }

    private int Connect(int listener, int client)
    {
        // A unix socket that binds to its family alone gets a free abstract name (unix(7), "Autobind"): no file, no port.
        const int AddressBytesMax = 128;
        byte* memory = stackalloc byte[AddressBytesMax];
        var address = new Span<byte>(memory, AddressBytesMax);
        BitConverter.TryWriteBytes(address, (ushort)AddressFamilyNumber.Unix);
        Require(SocketCalls.Bind(listener, address[..sizeof(ushort)]), "bind");
        Require(SocketCalls.Listen(listener, 1), "listen");
        int addressBytes = Require(SocketCalls.LocalAddress(listener, address), "getsockname");

        _backend.SubmitAccept(AcceptToken, listener);
        _backend.SubmitConnect(ConnectToken, client, memory, addressBytes);
        Completion connected = Await(ConnectToken, "connect");
        Expect(connected is { Result: 0, IsTerminal: true }, "connect", connected.Result);
        Completion accepted = Await(AcceptToken, "accept");
        Expect(accepted is { Result: >= 0, IsTerminal: false }, "multishot accept", accepted.Result);
        return accepted.Result;
    }

    private void Receive(int client, int server, byte* content)
    {
        _backend.SubmitReceive(ReceiveToken, client);
        _backend.SubmitSend(SendToken, server, content, (nuint)Content.Length);
        AwaitContent("send");

        IoVector* parts = stackalloc IoVector[2];
        parts[0] = new IoVector { Address = content, Bytes = 3 };
        parts[1] = new IoVector { Address = content + 3, Bytes = (nuint)Content.Length - 3 };
        var message = new MessageHeader { Vectors = parts, VectorCount = 2 };
        _backend.SubmitSendMessage(SendToken, server, &message);
        AwaitContent("sendmsg");
    }

    private void AwaitContent(string what)
    {
        Completion sent = Await(SendToken, what);
        Expect(sent.Result == Content.Length, what, sent.Result);
        for (int at = 0; at < Content.Length;)
        {
            Completion received = Await(ReceiveToken, "receive");
            Expect(received is { Result: > 0, HasBuffer: true, IsTerminal: false }, "multishot receive", received.Result);
            bool isContent = received.Result <= Content.Length - at
                && new ReadOnlySpan<byte>(received.Data, received.Result).SequenceEqual(Content.Slice(at, received.Result));
            Expect(isContent, "content of a receive", received.Result);
            at += received.Result;
            _backend.ReturnBuffer(received.BufferId);
        }
    }

    private void Read(int file, byte* spare)
    {
        _backend.SubmitRead(ReadToken, file, spare, SpareBytes, offset: 2);
        Completion read = Await(ReadToken, "read");
        ReadOnlySpan<byte> expected = Content[2..];
        bool isContent = read.Result == expected.Length && new ReadOnlySpan<byte>(spare, expected.Length).SequenceEqual(expected);
        Expect(isContent, "read", read.Result);
    }

    private void Cancel(OperationToken target, string what)
    {
        _backend.SubmitCancel(target);
        Completion end = Await(target, $"cancelled {what}");
        Expect(end is { Result: -Errno.ECANCELED, IsTerminal: true }, $"cancelled {what}", end.Result);
    }

    /// <summary>Whoever waits for a socket that is closed hears of it, though its own operation is older than the close.</summary>
    private void Close(int client, int server)
    {
        _backend.SubmitReceive(ReceiveToken, client);
        _backend.CloseSocket(server);
        Completion end = Await(ReceiveToken, "the end of a closed socket");
        Expect(end is { Result: 0, IsTerminal: true }, "the end of a closed socket", end.Result);
    }

    private Completion Await(OperationToken token, string what)
    {
        while (true)
        {
            int index = _unclaimed.FindIndex(completion => completion.Token == token);
            if (index >= 0)
            {
                Completion found = _unclaimed[index];
                _unclaimed.RemoveAt(index);
                return found;
            }

            if (Stopwatch.GetElapsedTime(_start) > Deadline)
            {
                throw new SelfTestException($"{what} never completed");
            }

            _unclaimed.AddRange(_backend.Turn(TurnMs));
        }
    }

    private static void Expect(bool isAsExpected, string what, int result)
    {
        if (!isAsExpected)
        {
            throw new SelfTestException(result < 0 ? $"{what}: {Errno.Describe(result)}" : $"{what}: {result} is not its result");
        }
    }

    private static int Require(int result, string call)
    {
        Expect(result >= 0, call, result);
        return result;
    }

    private sealed class SelfTestException(string message) : Exception(message);
}
