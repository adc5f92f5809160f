using Millrace.Engine.Backends;
using Millrace.Engine.Backends.Epoll;
using Millrace.Engine.Backends.IoUring;
using Millrace.Engine.Tests.Kit;

namespace Millrace.Engine.Tests.Backends.Kit;

/// <summary>A test of what all backends owe the reactor; each backend runs it as a class of its own, which bears its trait.</summary>
[Collection(nameof(Wire.Kit.RealSockets))]
public abstract class BackendTest(BackendKind kind, bool isPolled = false)
{
    internal const int BufferBytes = 1024;

    internal static readonly OperationToken ReceiveToken = DirectBackend.Token(OperationKind.Receive, slot: 3, generation: 7);
    internal static readonly OperationToken ConnectToken = DirectBackend.Token(OperationKind.Connect, slot: 3, generation: 7);
    internal static readonly OperationToken SendToken = DirectBackend.Token(OperationKind.Send, slot: 3, generation: 7);
    internal static readonly OperationToken AcceptToken = DirectBackend.Token(OperationKind.Accept);
    internal static readonly OperationToken ReadToken = DirectBackend.Token(OperationKind.FileRead, slot: 3, generation: 7);

    internal static EngineOptions Small => new() { ReceiveBuffers = 8, ReceiveBufferBytes = BufferBytes };

    /// <summary>Whether a kernel thread takes what is submitted, at any moment.</summary>
    protected bool IsPolled => isPolled;

    /// <summary>On this thread, which is the one to use it.</summary>
    internal DirectBackend Open(EngineOptions? options = null) => new(Create(options ?? Small));

    /// <summary>What a peer has read on a thread of its own.</summary>
    internal static T Wait<T>(Task<T> task)
    {
        Assert.True(task.Wait(EngineTest.Patience), "The peer still reads.");
        return task.Result;
    }

    /// <summary>The end of a send without a copy, of all that was handed over.</summary>
    internal static void ExpectResultAndNotice(DirectBackend kernel, int bytes)
    {
        Completion result = kernel.Next(SendToken);
        Assert.Equal((bytes, false), (result.Result, result.IsTerminal));
        Assert.True(kernel.Next(SendToken).IsTerminal);
        kernel.ExpectNothing(SendToken);
    }

    private Backend Create(EngineOptions options) =>
        kind == BackendKind.Epoll ? new EpollBackend(options) : new IoUringBackend(IsPolled ? options.Polled() : options);
}
