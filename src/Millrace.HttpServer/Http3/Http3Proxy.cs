using Millrace.Http;
using Millrace.HttpServer.Proxying;
using Millrace.HttpServer.Sessions;
using Millrace.HttpServer.Upstreams;
using Millrace.QuicTransport;

namespace Millrace.HttpServer.Http3;

/// <summary>The requests of one connection to upstreams over HTTP/3. Reactor thread only.</summary>
internal sealed class Http3Proxy(
    QuicServerConnection connection,
    SessionReactorState reactorState,
    IHttp3StreamOwner owner,
    Http3Streams streams,
    Http3ResponseWriter responses)
    : StreamProxy<QpackBlockWriter>(connection, reactorState, responses)
{
    /// <summary>
    /// Takes data of a request's body, and returns how much. If that is not all, the rest stays in the QUIC stream until <see
    /// cref="IHttp3StreamOwner.ReadOn"/>.
    /// </summary>
    public int TakeData(Http3Stream stream, ReadOnlySpan<byte> data)
    {
        Http3ProxiedStream proxied = stream.OwnProxied;
        proxied.AwaitsContinue = false;
        if (!data.IsEmpty)
        {
            Decide(proxied, hasBody: true);
        }

        int count = Math.Min(data.Length, RoomOf(stream, proxied));
        if (count > 0)
        {
            proxied.Upstream!.WriteBody(data[..count]);
        }

        bool wasPaused = proxied.IsPaused;
        proxied.IsPaused = count < data.Length;
        if (proxied.IsPaused && !wasPaused)
        {
            AllowForPaused();
        }

        return count;
    }

    /// <summary>The request's body has ended, and was counted.</summary>
    /// <param name="stream">The stream.</param>
    /// <param name="trailerLines">Its trailers, as lines of HTTP/1.1.</param>
    public void EndBody(Http3Stream stream, ReadOnlySpan<byte> trailerLines)
    {
        Http3ProxiedStream proxied = stream.OwnProxied;
        proxied.IsPaused = false;
        if (!trailerLines.IsEmpty)
        {
            proxied.SetTrailers(trailerLines.ToArray());
        }

        Decide(proxied, hasBody: !trailerLines.IsEmpty);
        PassBody(stream, proxied);
    }

    /// <summary>There is room in a stream again: an informational response may have waited for it.</summary>
    public void Continue(Http3Stream stream)
    {
        if (stream.IsProxied && stream.Proxied!.Upstream!.Phase == UpstreamPhase.Informational)
        {
            streams.OnSourceProgress(stream);
        }
    }

    /// <summary>Continues with the streams whose bodies' producers have made progress.</summary>
    public void TakeProgress()
    {
        for (int i = streams.Count - 1; i >= 0 && streams.SourcesProgressed > 0; i--)
        {
            Http3Stream stream = streams.All[i];
            if (!streams.TakeSourceProgress(stream))
            {
                continue;
            }

            if (stream.IsProxied)
            {
                Advance(stream);
            }

            if (stream.State == ResponseState.Producer)
            {
                responses.Scheduler.Send(stream);
            }
        }
    }

    /// <summary>
    /// Widens the connection's window by what the streams may hold whose upstreams are behind: with few of them, requests to others go on.
    /// </summary>
    private void AllowForPaused()
    {
        long bytes = 0;
        foreach (Http3Stream stream in streams.All)
        {
            bytes += stream.IsProxied && stream.OwnProxied.IsPaused ? stream.Quic.Receive.WindowSize : 0;
        }

        connection.Connection.Streams.AllowForUnread(bytes);
    }

    protected override ProxiedStream ProxiedOf(RequestStream stream) => ((Http3Stream)stream).OwnProxied;

    /// <summary>As long as an earlier head has not found room, no more is written.</summary>
    protected override bool TryFindRoom(RequestStream stream) => ((Http3Stream)stream).TryWriteKept();

    protected override void PassBody(RequestStream stream, ProxiedStream proxied)
    {
        if (!stream.IsProxied || RoomOf(stream, proxied) == 0)
        {
            return;
        }

        if (stream.Request.IsComplete)
        {
            if (!proxied.IsBodyEnded)
            {
                EndBody(stream, proxied);
                streams.OnSourceProgress((Http3Stream)stream);
            }
        }
        else if (proxied.HoldsBody)
        {
            ((Http3ProxiedStream)proxied).IsPaused = false;
            owner.ReadOn((Http3Stream)stream);
        }
    }

    /// <summary>What is unread stays so: the client is asked for no more when it is answered, which follows.</summary>
    protected override void DropBody(RequestStream stream)
    {
    }

    protected override void AbandonBody(RequestStream stream) => Http3Streams.AbandonBody((Http3Stream)stream);

    protected override void SendBody(RequestStream stream, ProxiedStream proxied) => responses.Scheduler.Send((Http3Stream)stream);

    protected override void EndResponse(RequestStream stream) => streams.EndResponse((Http3Stream)stream);

    protected override void Reset(RequestStream stream, bool isCancel) =>
        streams.Reset((Http3Stream)stream, isCancel ? Http3Error.RequestCancelled : Http3Error.InternalError);
}
