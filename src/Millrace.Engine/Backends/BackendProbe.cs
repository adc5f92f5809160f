using System.Diagnostics;
using System.Runtime.InteropServices;
using Millrace.Engine.Backends.IoUring;
using Millrace.Interop;
using Millrace.Interop.Memory;
using Millrace.Interop.Sockets;

namespace Millrace.Engine.Backends;

/// <summary>
/// The result of a trial of io_uring on this host: a ring on its own thread, and every operation that reactors use, over a pair of sockets.
/// Kernel version and opcode lists are not consulted: sandboxes report support and then refuse. Any thread.
/// </summary>
/// <param name="Refusal">Why io_uring is not available, with cause and remedy; null if it works.</param>
internal sealed record BackendProbe(IoUringRefusal? Refusal)
{
    private static BackendProbe? Last;

    /// <summary>
    /// The backend for <see cref="BackendKind.Auto"/>. If a resource ran out (memory, descriptors) it is still io_uring: the start is tried
    /// again, and the last failure decides (<see cref="EngineException.IsShortOfMemory"/>).
    /// </summary>
    public BackendKind Best => Refusal is { IsUnavailable: true } ? BackendKind.Epoll : BackendKind.IoUring;

    /// <summary>The process's trial, made on first use and repeated only while a resource had run out.</summary>
    public static BackendProbe Current
    {
        get
        {
            BackendProbe? last = Volatile.Read(ref Last);
            if (last is null or { Refusal.IsUnavailable: false })
            {
                last = Run();
                Volatile.Write(ref Last, last);
            }

            return last;
        }
    }

    public static BackendProbe Run()
    {
        IoUringRefusal? refusal = null;
        var trial = new Thread(() => refusal = Try()) { IsBackground = true, Name = "millrace-probe" };
        trial.UnsafeStart();
        trial.Join();
        return new BackendProbe(refusal);
    }

    internal static IoUringRefusal? Try()
    {
        try
        {
            using var backend = new IoUringBackend(BackendSelfTest.Options);
            return BackendSelfTest.Run(backend) is { } failure ? IoUringRefusal.ForSelfTest(failure) : null;
        }
        catch (EngineException refused)
        {
            return refused.Refusal ?? IoUringRefusal.ForSelfTest(new SelfTestFailure(refused.Message.TrimEnd('.'), refused.Shortage));
        }
    }
}

/// <summary>Remedies for exhausted resources, shared by all messages about them.</summary>
internal static class Advice
{
    public const string Memory = "allow more (MemoryMax= in a unit file)";
    public const string LockedMemory = "raise the limit ('ulimit -l', LimitMEMLOCK= in a unit file) or use fewer reactors";

    /// <summary>A ring of the default sizes takes 128 KiB.</summary>
    public const string LockedMemoryOfRings =
        "raise the limit ('ulimit -l', LimitMEMLOCK= in a unit file) to at least 128 KiB for each reactor, or use fewer reactors";
}

/// <summary>
/// Runs each operation that reactors use once and checks the results: multishot accept, connect, multishot receive into provided buffers, a
/// send, a send of two parts, a positional read, cancels. Runs on the thread that created the backend; nothing is in flight after success.
/// </summary>
internal sealed unsafe class BackendSelfTest
{
    /// <summary>Enough for a machine under load; the operations themselves take microseconds.</summary>
    private static readonly TimeSpan Deadline = TimeSpan.FromSeconds(5);

    private const int IterationMs = 100;
    private const int SpareBytes = 16;

    private static readonly OperationToken AcceptToken = new(OperationKind.Accept, 1, 0);
    private static readonly OperationToken ConnectToken = new(OperationKind.Connect, 1, 0);
    private static readonly OperationToken ReceiveToken = new(OperationKind.Receive, 1, 0);
    private static readonly OperationToken SendToken = new(OperationKind.Send, 1, 0);
    private static readonly OperationToken ReadToken = new(OperationKind.FileRead, 1, 0);

    private readonly Backend _backend;
    private readonly List<Completion> _unclaimed = [];
    private readonly List<int> _descriptors = [];
    private readonly long _start = Stopwatch.GetTimestamp();

    private BackendSelfTest(Backend backend) => _backend = backend;

    private static ReadOnlySpan<byte> Content => "millrace"u8;

    /// <summary>Small sizes: a trial must not fail for memory that reactors would get.</summary>
    public static EngineOptions Options => new()
    {
        SubmissionEntries = 8,
        CompletionEntries = 32,
        ReceiveBuffers = 4,
        ReceiveBufferBytes = 64,
    };

    public static SelfTestFailure? Run(Backend backend)
    {
        // After a failure neither memory nor descriptors are released, as an operation in flight may still use them; descriptors are closed
        // only if a resource ran out, because the next trial needs them.
        var content = new Span<byte>(NativeMemory.Alloc((nuint)Content.Length), Content.Length);
        Content.CopyTo(content);
        byte* spare = (byte*)NativeMemory.AllocZeroed(SpareBytes);
        var test = new BackendSelfTest(backend);
        try
        {
            fixed (byte* bytes = content)
            {
                test.Run(bytes, spare);
                NativeMemory.Free(bytes);
            }

            NativeMemory.Free(spare);
            return null;
        }
        catch (SelfTestException failure)
        {
            if (failure.Failure.IsScarcity)
            {
                test._descriptors.ForEach(static descriptor => SocketCalls.Close(descriptor));
            }

            return failure.Failure;
        }
    }

    private void Run(byte* content, byte* spare)
    {
        int listener = Own(SocketCalls.Socket(AddressFamilyNumber.Unix, SocketTypeNumber.Stream), "socket");
        int client = Own(SocketCalls.Socket(AddressFamilyNumber.Unix, SocketTypeNumber.Stream), "socket");
        int file = Own(MemoryCalls.MemoryFile(Content), "memfd_create");
        int server = Connect(listener, client);

        Receive(client, server, content);
        Read(file, spare);
        Cancel(ReceiveToken, "receive");
        Cancel(AcceptToken, "accept");

        _backend.CloseSocket(client);
        _backend.CloseSocket(server);
        _backend.CloseSocket(listener);
        _ = SocketCalls.Close(file);
    }

    private int Connect(int listener, int client)
    {
        // A unix socket bound to its family alone gets a free abstract name (unix(7), "Autobind"): no file, no port.
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
        return Own(accepted.Result, "multishot accept");
    }

    private void Receive(int client, int server, byte* content)
    {
        _backend.SubmitReceive(ReceiveToken, client);
        _backend.SubmitSend(SendToken, server, new SendRequest(content, (nuint)Content.Length));
        AwaitContent("send");

        IoVector* parts = stackalloc IoVector[2];
        parts[0] = new IoVector { Address = content, Bytes = 3 };
        parts[1] = new IoVector { Address = content + 3, Bytes = (nuint)Content.Length - 3 };
        var message = new MessageHeader { Vectors = parts, VectorCount = 2 };
        _backend.SubmitSend(SendToken, server, new SendRequest(&message));
        AwaitContent("sendmsg");
    }

    private void AwaitContent(string what)
    {
        Completion sent = Await(SendToken, what);
        Expect(sent.Result == Content.Length, what, sent.Result);
        for (int at = 0; at < Content.Length;)
        {
            Completion received = Await(ReceiveToken, "receive");
            if (received.Result == -Errno.ENOBUFS)
            {
                // All buffers are free, so ENOBUFS does not mean a shortage.
                throw new SelfTestException(new SelfTestFailure("multishot receive does not find the provided buffers", 0));
            }

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
                throw new SelfTestException(new SelfTestFailure($"{what} never completed", 0));
            }

            _unclaimed.AddRange(_backend.Poll(IterationMs));
        }
    }

    private static void Expect(bool isAsExpected, string what, int result)
    {
        if (!isAsExpected)
        {
            throw new SelfTestException(result < 0
                ? new SelfTestFailure($"{what}: {Errno.Describe(result)}", -result)
                : new SelfTestFailure($"{what}: unexpected result {result}", 0));
        }
    }

    private int Own(int descriptor, string call)
    {
        _descriptors.Add(Require(descriptor, call));
        return descriptor;
    }

    private static int Require(int result, string call)
    {
        Expect(result >= 0, call, result);
        return result;
    }

    private sealed class SelfTestException(SelfTestFailure failure) : Exception(failure.What)
    {
        public SelfTestFailure Failure { get; } = failure;
    }
}

/// <summary>The failure of a self-test.</summary>
/// <param name="What">What failed, as a clause.</param>
/// <param name="ErrorNumber">The kernel's errno, 0 where there is none.</param>
internal sealed record SelfTestFailure(string What, int ErrorNumber)
{
    /// <summary>Whether a resource of the process or machine ran out, which proves nothing about the backend.</summary>
    public bool IsScarcity => ErrorNumber is Errno.EMFILE or Errno.ENFILE or Errno.ENOMEM or Errno.ENOBUFS;
}
