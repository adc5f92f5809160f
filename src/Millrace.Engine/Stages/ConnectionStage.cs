using Millrace.Engine.Buffers;
using Millrace.Engine.Connections;

namespace Millrace.Engine.Stages;

/// <summary>
/// A step between socket and handler that rewrites the bytes of one connection (a PROXY preface, TLS). Received bytes
/// climb from the outermost stage (next to the socket) inwards by <see cref="PassIn"/>; a flushed batch descends from the innermost
/// outwards. Sessions and pipes above never know. A connection without stages has none of its costs. Reactor thread only.
/// </summary>
internal abstract class ConnectionStage
{
    protected Connection Connection { get; private set; } = null!;

    /// <summary>The next stage towards the socket.</summary>
    internal ConnectionStage? Outer { get; private set; }

    /// <summary>The next stage towards the handler.</summary>
    internal ConnectionStage? Inner { get; private set; }

    /// <summary>
    /// Whether the handler is run only when this stage says so (<see cref="StartHandler"/>), or passes bytes in. Asked once, at the start.
    /// </summary>
    public virtual bool HoldsHandler => false;

    /// <summary>Chains stages, the first next to the socket, and returns both ends.</summary>
    internal static (ConnectionStage Outermost, ConnectionStage Innermost) Chain(
        Connection connection, IReadOnlyList<ConnectionStage> stages)
    {
        for (int i = 0; i < stages.Count; i++)
        {
            stages[i].Connection = connection;
            stages[i].Outer = i > 0 ? stages[i - 1] : null;
            stages[i].Inner = i + 1 < stages.Count ? stages[i + 1] : null;
        }

        return (stages[0], stages[^1]);
    }

    /// <summary>What stood between it and the socket is not there any more.</summary>
    internal void BecomeOutermost() => Outer = null;

    /// <summary>Bytes came from the socket's side; they are the caller's and last only for the call.</summary>
    public abstract void Receive(ReadOnlySpan<byte> bytes);

    /// <summary>
    /// The peer sent its end. A stage that can tell a whole stream from a cut one says <see cref="ReceiveEnd.Reset"/> for the latter; one
    /// that has not dealt with all that came says <see cref="ReceiveEnd.None"/>, and passes the end in later.
    /// </summary>
    public virtual ReceiveEnd ReceiveEnded(ReceiveEnd end) => end;

    /// <summary>Rewrites a flushed batch into the one that goes further out. The plain one is reset by the caller.</summary>
    public abstract void Encode(OutputBatch plain, OutputBatch encoded);

    /// <summary>The handler has ended its output in order: a last word (TLS's close_notify) goes into the batch.</summary>
    public virtual void EncodeEnd(OutputBatch encoded)
    {
    }

    /// <summary>The time of <see cref="Connection.SetStageDeadline"/> has come, and the handler has not been left.</summary>
    public virtual void DeadlineReached()
    {
    }

    /// <summary>What the stage has put off, called through <see cref="Connection.Continue"/>, which holds what it throws.</summary>
    public virtual void Continue()
    {
    }

    /// <summary>The connection is gone; what the stage holds is given back.</summary>
    public virtual void Release()
    {
    }

    /// <summary>Hands bytes to the next stage, or to the handler's input.</summary>
    protected void PassIn(ReadOnlySpan<byte> bytes)
    {
        if (bytes.Length == 0)
        {
            return;
        }

        if (Inner is not null)
        {
            Inner.Receive(bytes);
        }
        else
        {
            Connection.AcceptInput(bytes);
        }
    }

    /// <summary>Nothing comes any more, by this stage's own protocol: the end of the input may come before the socket's.</summary>
    protected void PassInEnd(ReceiveEnd end) => Connection.EndInputFromStage(Inner is null ? end : Inner.PassEnd(end));

    /// <summary>Has the handler run that was held back.</summary>
    protected void StartHandler() => Connection.StartHandler();

    internal ReceiveEnd PassEnd(ReceiveEnd end)
    {
        ReceiveEnd seen = ReceiveEnded(end);
        return Inner is null || seen == ReceiveEnd.None ? seen : Inner.PassEnd(seen);
    }
}
