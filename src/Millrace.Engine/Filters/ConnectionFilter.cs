using Millrace.Engine.Buffers;
using Millrace.Engine.Connections;

namespace Millrace.Engine.Filters;

/// <summary>
/// A step between socket and handler that rewrites the bytes of one connection (a PROXY header, TLS). Received bytes go from the outermost
/// filter (next to the socket) inwards by <see cref="PassIn"/>; a flushed batch goes from the innermost outwards. Sessions and pipes are
/// unaware of filters, and a connection without filters pays nothing for them. Reactor thread only.
/// </summary>
internal abstract class ConnectionFilter
{
    protected Connection Connection { get; private set; } = null!;

    internal ConnectionFilter? Outer { get; private set; }

    internal ConnectionFilter? Inner { get; private set; }

    /// <summary>
    /// Whether the handler is not run until this filter calls <see cref="StartHandler"/> or passes bytes in. Read once, at the start.
    /// </summary>
    public virtual bool HoldsHandler => false;

    /// <summary>Chains filters, the first next to the socket, and returns both ends.</summary>
    internal static (ConnectionFilter Outermost, ConnectionFilter Innermost) Chain(
        Connection connection, IReadOnlyList<ConnectionFilter> filters)
    {
        for (int i = 0; i < filters.Count; i++)
        {
            filters[i].Connection = connection;
            filters[i].Outer = i > 0 ? filters[i - 1] : null;
            filters[i].Inner = i + 1 < filters.Count ? filters[i + 1] : null;
        }

        return (filters[0], filters[^1]);
    }

    /// <summary>The filters between it and the socket were removed.</summary>
    internal void BecomeOutermost() => Outer = null;

    /// <summary>The connection is open, and the chain complete. A filter that speaks first may request its send.</summary>
    public virtual void Begin()
    {
    }

    /// <summary>Receives bytes from the socket's side; they are valid only for the call.</summary>
    public abstract void Receive(ReadOnlySpan<byte> bytes);

    /// <summary>
    /// The peer's input ended. A filter that can distinguish a complete stream from a truncated one returns <see cref="ReceiveEnd.Reset"/>
    /// for the latter; one that has unprocessed input returns <see cref="ReceiveEnd.None"/> and passes the end in later.
    /// </summary>
    public virtual ReceiveEnd ReceiveEnded(ReceiveEnd end) => end;

    /// <summary>Rewrites a flushed batch into the one that goes further out. The caller resets the plain one.</summary>
    public abstract void Encode(OutputBatch plain, OutputBatch encoded);

    /// <summary>The handler's output ended in order: appends the filter's final bytes (TLS's close_notify).</summary>
    public virtual void EncodeEnd(OutputBatch encoded)
    {
    }

    /// <summary>The deadline of <see cref="ConnectionTimers.SetFilterDeadline"/> has passed, and the connection is being served.</summary>
    public virtual void DeadlineReached()
    {
    }

    /// <summary>Runs deferred work; called through <see cref="FilterChain.Continue"/>, which handles its exceptions.</summary>
    public virtual void Continue()
    {
    }

    /// <summary>The connection is gone; frees what the filter holds.</summary>
    public virtual void Release()
    {
    }

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
            Connection.Reader.TakeFromFilter(bytes);
        }
    }

    /// <summary>Ends the input by this filter's own protocol, possibly before the socket's end.</summary>
    protected void PassInEnd(ReceiveEnd end) => Connection.Filters.EndInput(Inner is null ? end : Inner.PassEnd(end));

    protected void StartHandler() => Connection.Handler.StartHeld();

    internal ReceiveEnd PassEnd(ReceiveEnd end)
    {
        ReceiveEnd seen = ReceiveEnded(end);
        return Inner is null || seen == ReceiveEnd.None ? seen : Inner.PassEnd(seen);
    }
}
