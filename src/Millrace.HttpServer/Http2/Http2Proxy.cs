using Millrace.Engine;
using Millrace.Http;
using Millrace.HttpServer.Bodies;
using Millrace.HttpServer.Proxying;
using Millrace.HttpServer.Sessions;
using Millrace.HttpServer.Upstreams;

namespace Millrace.HttpServer.Http2;

/// <summary>
/// The requests of one connection to upstreams over HTTP/2. A stream's window is opened again as the upstream takes its data. Reactor
/// thread only.
/// </summary>
internal sealed class Http2Proxy(
    Connection connection, SessionReactorState reactorState, SendQueue queue, Http2Streams streams, Http2ResponseWriter responses)
    : StreamProxy<FieldBlockWriter>(connection, reactorState, responses)
{
    /// <summary>
    /// The window of an upload that an upstream takes: without it, a client 50 ms away could send no more than 1.3 MB a second.
    /// </summary>
    private const int UploadWindowBytes = 256 * 1024;

    /// <summary>Whether an informational response waits until the client has taken enough of the output.</summary>
    public bool WaitsForRoom { get; private set; }

    /// <summary>
    /// Takes the data of one frame, also before its request is planned: what no upstream takes now is kept, and is never more than the
    /// stream's window.
    /// </summary>
    public Http2Fault TakeData(Http2Stream stream, ReadOnlySpan<byte> data, bool isLast)
    {
        Http2ProxiedStream proxied = stream.OwnProxied;
        proxied.AwaitsContinue = false;
        if (!data.IsEmpty || isLast)
        {
            Decide(proxied, hasBody: !data.IsEmpty || !proxied.Trailers.IsEmpty);
        }

        if (proxied.Data.IsEmpty)
        {
            data = data[Pass(stream, proxied, data)..];
        }

        if (!data.IsEmpty)
        {
            streams.KeepData(stream, data);
        }

        Http2Fault fault = isLast ? stream.EndData() : default;
        if (fault.IsNone)
        {
            PassBody(stream, proxied);
        }

        return fault;
    }

    /// <summary>The request's body ends with trailers.</summary>
    public Http2Fault TakeTrailers(Http2Stream stream, ReadOnlySpan<byte> lines)
    {
        stream.OwnProxied.SetTrailers(lines.ToArray());
        return TakeData(stream, default, isLast: true);
    }

    /// <summary>A request whose data was kept is answered here: the data counts as any other that is not needed.</summary>
    public void DropData(Http2Stream stream)
    {
        if (stream.Proxied is Http2ProxiedStream { Data.IsEmpty: false } proxied)
        {
            streams.ConsumeData(stream, proxied.Data.Length);
            GiveWindow(stream, proxied);
        }
    }

    /// <summary>Has the informational responses pass that waited for room, if there is some now.</summary>
    public void TakeRoom()
    {
        if (!WaitsForRoom || !queue.HasRoom)
        {
            return;
        }

        WaitsForRoom = false;
        foreach (Http2Stream stream in streams.All)
        {
            if (stream.IsProxied && stream.Proxied!.Upstream!.Phase == UpstreamPhase.Informational)
            {
                streams.OnSourceProgress(stream);
            }
        }
    }

    /// <summary>Continues with the streams whose bodies' producers have made progress.</summary>
    public void TakeProgress()
    {
        // Backwards: the last stream takes the index of one that is closed.
        for (int i = streams.Count - 1; i >= 0 && streams.SourcesProgressed > 0; i--)
        {
            Http2Stream stream = streams.All[i];
            if (!streams.TakeSourceProgress(stream))
            {
                continue;
            }

            if (stream.IsProxied)
            {
                Advance(stream);
            }

            if (stream.State == SendState.Producer)
            {
                queue.Enqueue(stream);
            }
        }
    }

    protected override ProxiedStream ProxiedOf(RequestStream stream) => ((Http2Stream)stream).OwnProxied;

    protected override bool TryFindRoom(RequestStream stream)
    {
        WaitsForRoom |= !queue.HasRoom;
        return queue.HasRoom;
    }

    protected override void PassBody(RequestStream stream, ProxiedStream proxied) =>
        PassBody((Http2Stream)stream, (Http2ProxiedStream)proxied);

    protected override void DropBody(RequestStream stream) => DropData((Http2Stream)stream);

    protected override void AbandonBody(RequestStream stream) => streams.AbandonBody((Http2Stream)stream);

    protected override void SendBody(RequestStream stream, ProxiedStream proxied)
    {
        ((Http2ProxiedStream)proxied).BeginResponse(queue);
        queue.Enqueue((Http2Stream)stream);
    }

    protected override void EndResponse(RequestStream stream) => streams.EndResponse((Http2Stream)stream);

    protected override void Reset(RequestStream stream, bool isCancel) =>
        streams.Reset((Http2Stream)stream, isCancel ? Http2Error.Cancel : Http2Error.InternalError);

    private void PassBody(Http2Stream stream, Http2ProxiedStream proxied)
    {
        if (!stream.IsProxied)
        {
            return;
        }

        while (Pass(stream, proxied, proxied.Data) is > 0 and int count)
        {
            streams.ConsumeData(stream, count);
        }

        if (proxied.Data.IsEmpty && stream.Request.Bytes > 0 && !stream.Request.IsComplete)
        {
            stream.ReceiveWindowMax = UploadWindowBytes;
            streams.HasUploads = true;
        }

        if (stream.Request.IsComplete && proxied.Data.IsEmpty && !proxied.IsBodyEnded && RoomOf(stream, proxied) > 0)
        {
            EndBody(stream, proxied);
            streams.OnSourceProgress(stream);
        }

        GiveWindow(stream, proxied);
        if (proxied.IsBodyEnded && stream.IsAnswered)
        {
            streams.CloseIfDone(stream);
        }
    }

    private static int Pass(Http2Stream stream, Http2ProxiedStream proxied, ReadOnlySpan<byte> data)
    {
        int count = data.IsEmpty ? 0 : Math.Min(data.Length, RoomOf(stream, proxied));
        if (count > 0)
        {
            proxied.Upstream!.WriteBody(data[..count]);
        }

        return count;
    }

    /// <summary>Opens the stream's window for the client again, for what the upstream has taken, when that is half of it.</summary>
    private void GiveWindow(Http2Stream stream, Http2ProxiedStream proxied)
    {
        ref IncomingBody body = ref stream.Request;
        int increment = stream.ReceiveWindowMax - proxied.Data.Length - stream.ReceiveWindow;
        if (increment >= stream.ReceiveWindowMax / 2 && !body.IsComplete && !body.IsAbandoned)
        {
            stream.ReceiveWindow += increment;
            connection.Advance(FrameWriter.WindowUpdate(connection.GetSpan(FrameWriter.WindowUpdateBytes), stream.Id, increment));
        }
    }
}
