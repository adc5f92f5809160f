using Millrace.Http;

namespace Millrace.HttpServer.Sessions;

/// <summary>
/// Priorities that arrive before their requests (RFC 9218, section 7). They are kept for as many requests as may be open. Reactor thread
/// only.
/// </summary>
/// <param name="requestsMax">Requests of a connection that may be open.</param>
/// <param name="idStep">The difference between the ids of a client's requests: 2 in HTTP/2, 4 in HTTP/3.</param>
internal sealed class EarlyPriorities(int requestsMax, int idStep)
{
    private const long None = -1;

    private (long StreamId, StreamPriority Priority)[]? _kept;

    public void Keep(long streamId, StreamPriority priority)
    {
        if (_kept is null)
        {
            _kept = new (long, StreamPriority)[requestsMax];
            Array.Fill(_kept, (None, default));
        }

        _kept[IndexOf(streamId)] = (streamId, priority);
    }

    /// <summary>The priority of a request: an earlier PRIORITY_UPDATE takes precedence over its own field.</summary>
    public StreamPriority Of(long streamId, RequestHead head, ReadOnlySpan<byte> bytes)
    {
        if (_kept is { } kept && kept[IndexOf(streamId)] is var (id, priority) && id == streamId)
        {
            return priority;
        }

        return head.TryGet(FieldName.Priority, out TextRange value) ? StreamPriority.Parse(value.In(bytes)) : StreamPriority.Default;
    }

    private int IndexOf(long streamId) => (int)(streamId / idStep % requestsMax);
}
