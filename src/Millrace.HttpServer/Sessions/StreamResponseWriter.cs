using Millrace.Engine.Connections;
using Millrace.Http;
using Millrace.HttpServer.Archives;
using Millrace.HttpServer.Exchanges;
using Millrace.HttpServer.Heads;
using Millrace.HttpServer.Proxying;
using Millrace.StaticFiles.Archives;
using Millrace.StaticFiles.Planning;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.HttpServer.Sessions;

/// <summary>
/// Executes plans on streams: writes heads, and the bodies that can be sent at once; the others are queued. The derived class knows the
/// frames of HTTP/2 or HTTP/3. Reactor thread only.
/// </summary>
/// <typeparam name="TWriter">The coding of heads.</typeparam>
internal abstract class StreamResponseWriter<TWriter>(IClientConnection connection, SessionReactorState reactorState)
    where TWriter : struct, IHeadWriter<TWriter>, allows ref struct
{
    /// <summary>Accounted for each of several ranges until it is sent.</summary>
    private const int PartBytes = 256;

    protected IClientConnection Connection => connection;

    protected SessionReactorState ReactorState => reactorState;

    /// <summary>The Date in this coding.</summary>
    protected abstract ReadOnlySpan<byte> DateLine { get; }

    /// <summary>What else is about the message between this server and the client.</summary>
    protected virtual ReadOnlySpan<byte> OwnLines => default;

    /// <summary>Whether queued bodies are sent from the snapshot's memory: then none is copied because there is room.</summary>
    protected virtual bool SendsByReference => false;

    /// <summary>Begins a response: see <see cref="PlanWriterExtensions.Begin"/>.</summary>
    public void Respond(RequestStream stream, scoped in ResponsePlan plan, SiteBinding binding, RequestHead head, ReadOnlySpan<byte> bytes)
    {
        var response = new StreamResponse(this, stream, head, bytes);
        response.Begin(plan, binding);
    }

    /// <summary>Answers if a file that was to be opened with its first byte cannot be opened, as if it had been opened at once.</summary>
    public void RespondUnopened(RequestStream stream, BodyOpening opening)
    {
        ResponsePlan bare = new ResponsePlan(stream.Head.Status, PlanBody.StatusText, stream.Head.Fields);
        stream.Body.Release();
        stream.Head.Release();
        reactorState.Scratch.Reset();
        var response = new StreamResponse(this, stream, request: null, default);
        response.BeginWithoutFile(bare, opening);
    }

    /// <summary>Refuses a request for lack of memory. A body that would have to wait is left out: the request must hold nothing.</summary>
    public void RespondOverloaded(RequestStream stream, bool prefersHtml, bool includesBody)
    {
        var error = new UnplannedError(503, prefersHtml);
        RespondError(stream, error, includesBody && CanSendWhole(stream, error.Body.Length));
    }

    public void RespondError(RequestStream stream, UnplannedError error, bool includesBody)
    {
        TWriter writer = BeginHead(PlanHeadWriter.ErrorBytesMax, out Span<byte> room);
        PlanHeadWriter.WriteError(ref writer, error);
        stream.Exchange?.SetResponse(error.Status, includesBody ? ResponseBodySource.Text : ResponseBodySource.None);
        EndHead(ref writer, room, stream, isLast: !includesBody);
        EndWith(stream, includesBody ? error.Body : default, error.Page?.Bytes);
    }

    /// <summary>Writes a head that was deferred until the first bytes of its body were read.</summary>
    public void WriteDeferredHead(RequestStream stream, bool isLast)
    {
        TWriter writer = BeginHead(stream.Head.BytesMax<TWriter>(), out Span<byte> room);
        stream.Head.Report(stream.Exchange);
        if (stream.Head.Attempts == 0)
        {
            stream.Head.Write(ref writer);
        }
        else
        {
            // A file that was read in one piece has a length; for a larger file only its present end is known.
            long remaining = stream.Body.Remaining;
            stream.Head.WriteUncertain(ref writer, remaining == stream.Body.Ready ? remaining : BodyDescription.UnknownBytes);
        }

        EndHead(ref writer, room, stream, isLast);
        stream.Head.Release();
    }

    /// <summary>Passes an upstream's informational response on.</summary>
    public void WriteInformational(RequestStream stream, in ProxyResponseHead response, bool sendsVia)
    {
        if (response.IsValid)
        {
            TWriter writer = BeginHead(response.BytesMax<TWriter>(), out Span<byte> room);
            _ = response.Write(ref writer, ProxyHeadKind.Informational, sendsVia);
            EndBlock(ref writer, room, stream, isLast: false);
        }
    }

    /// <summary>Passes the head of an upstream's response on.</summary>
    public void WriteUpstreamHead(
        RequestStream stream, in ProxyResponseHead response, int status, ProxyHeadKind kind, bool sendsVia, bool hasBody)
    {
        TWriter writer = BeginHead(response.BytesMax<TWriter>(), out Span<byte> room);
        if (!response.Write(ref writer, kind, sendsVia))
        {
            writer.Lines(DateLine);
        }

        writer.Lines(OwnLines);
        stream.Exchange?.SetResponse(status, hasBody ? ResponseBodySource.Upstream : ResponseBodySource.None);
        EndBlock(ref writer, room, stream, isLast: !hasBody);
    }

    /// <summary>Reserves room for a head with its frame.</summary>
    /// <param name="blockBytesMax">Enough for its fields.</param>
    /// <param name="room">What was reserved, for <see cref="EndBlock"/>.</param>
    protected abstract TWriter BeginHead(int blockBytesMax, out Span<byte> room);

    protected abstract void EndBlock(scoped ref TWriter writer, Span<byte> room, RequestStream stream, bool isLast);

    /// <summary>Whether a body need not be queued.</summary>
    protected abstract bool CanSendWhole(RequestStream stream, long bytes);

    /// <summary>Sends a body that need not be queued.</summary>
    protected abstract void SendWhole(RequestStream stream, ReadOnlySpan<byte> body);

    protected abstract void Enqueue(RequestStream stream);

    protected abstract void EndResponse(RequestStream stream);

    /// <summary>Writes the trailers that may pass, as the last block of a stream.</summary>
    protected void WriteTrailers(RequestStream stream, ReadOnlySpan<byte> lines)
    {
        int fields = lines.Count((byte)'\n');
        TWriter writer = BeginHead(lines.Length + (fields * FieldBlockWriter.FieldOverheadBytesMax), out Span<byte> room);
        var trailers = new TrailerLines(lines);
        while (trailers.MoveNext())
        {
            writer.Field(trailers.Name, trailers.Value);
        }

        EndBlock(ref writer, room, stream, isLast: true);
    }

    private void RespondAsset(
        RequestStream stream, scoped in ResponsePlan plan, in BodySource source, in AssetPart part, scoped in StreamResponse response)
    {
        if (part.Extent == BodyExtent.Ranges)
        {
            RespondMultipart(stream, plan, source, response.IncludesBody);
            return;
        }

        (long first, long bytes) = (part.Range.First, part.Range.Length);
        if (!response.IncludesBody || bytes == 0)
        {
            RespondHeadOnly(stream, plan, source, part.State, new BodyDescription(bytes));
            return;
        }

        // Takes over the source first: if there is no memory for the head, closing the stream closes the source.
        stream.Body.Begin(source, first, bytes);
        if (source.Asset.Strategy != BodyStrategy.InMemory)
        {
            // The head is certain only when the first bytes have been read.
            stream.Head.Hold<TWriter>(plan, reactorState.Scratch, part, response.PrefersHtml);
            stream.Hold(stream.Head.OwnBytes);
            Enqueue(stream);
            return;
        }

        WriteHead(stream, plan, part.State, new BodyDescription(bytes), isLast: false);
        if (!SendsByReference && CanSendWhole(stream, bytes))
        {
            SendWhole(stream, source.Asset.InMemoryBody.Slice((int)first, (int)bytes));
            stream.Body.Release();
            EndResponse(stream);
        }
        else
        {
            Enqueue(stream);
        }
    }

    private void RespondMultipart(RequestStream stream, scoped in ResponsePlan plan, in BodySource source, bool includesBody)
    {
        MultipartRanges parts = reactorState.PartsOf(plan, source.Size);
        var description = new BodyDescription(parts.Bytes, parts.ContentType);
        if (!includesBody)
        {
            RespondHeadOnly(stream, plan, source, AssetState.AsPlanned, description);
            return;
        }

        stream.Body.Begin(source, parts);
        stream.Hold(parts.Count * PartBytes);
        WriteHead(stream, plan, AssetState.AsPlanned, description, isLast: false);
        Enqueue(stream);
    }

    /// <summary>Sends the head alone. The source is not read: the plan and the description have what is needed.</summary>
    private void RespondHeadOnly(
        RequestStream stream, scoped in ResponsePlan plan, in BodySource source, AssetState state, in BodyDescription description)
    {
        source.Close();
        WriteHead(stream, plan, state, description, isLast: true);
        EndResponse(stream);
    }

    private void RespondArchive(RequestStream stream, scoped in ResponsePlan plan, SiteBinding binding, scoped in StreamResponse response)
    {
        var description = new BodyDescription(BodyDescription.UnknownBytes, plan.Archive!.Format.ContentType());
        if (!response.IncludesBody)
        {
            WriteHead(stream, plan, AssetState.AsPlanned, description, isLast: true);
            EndResponse(stream);
        }
        else if (ArchiveStream.TryBegin(connection.Reactor, plan.Archive, binding.Current) is { } archive)
        {
            archive.Progressed = stream.SourceProgressed;
            stream.Body.Begin(archive, owns: true);
            WriteHead(stream, plan, AssetState.AsPlanned, description, isLast: false);
            Enqueue(stream);
        }
        else
        {
            response.WriteError(PlanStatus.ServiceUnavailable);
        }
    }

    private void RespondBytes(
        RequestStream stream, scoped in ResponsePlan plan, ReadOnlySpan<byte> body, byte[]? retained, bool includesBody)
    {
        bool hasBody = includesBody && body.Length > 0;
        WriteHead(stream, plan, AssetState.AsPlanned, new BodyDescription(body.Length), isLast: !hasBody);
        EndWith(stream, hasBody ? body : default, retained);
    }

    private bool PrefersHtml(RequestHead request, ReadOnlySpan<byte> bytes) => reactorState.Planner.PrefersHtml(request, bytes);

    private void EndWith(RequestStream stream, ReadOnlySpan<byte> body, byte[]? retained)
    {
        if (!body.IsEmpty && !CanSendWhole(stream, body.Length))
        {
            stream.Body.BeginText(retained ?? body.ToArray());
            stream.Hold(retained is null ? body.Length : 0);
            Enqueue(stream);
            return;
        }

        if (!body.IsEmpty)
        {
            SendWhole(stream, body);
        }

        EndResponse(stream);
    }

    private void WriteHead(RequestStream stream, scoped in ResponsePlan plan, AssetState state, in BodyDescription body, bool isLast)
    {
        TWriter writer = BeginHead(PlanHeadWriter.BytesMax<TWriter>(plan, reactorState.Scratch), out Span<byte> room);
        PlanHeadWriter.Write(ref writer, plan, reactorState.Scratch, state, body);
        stream.Exchange?.SetResponse(plan, state, includesBody: !isLast);
        EndHead(ref writer, room, stream, isLast);
    }

    private void EndHead(scoped ref TWriter writer, Span<byte> room, RequestStream stream, bool isLast)
    {
        writer.Lines(DateLine);
        writer.Lines(OwnLines);
        EndBlock(ref writer, room, stream, isLast);
    }

    /// <summary>The response of one stream.</summary>
    /// <param name="writer">Writes it.</param>
    /// <param name="stream">The stream.</param>
    /// <param name="request">The request; null if it is not known any more, as it waited for its file. It is then not HEAD.</param>
    /// <param name="requestBytes">What the request was parsed from.</param>
    private readonly ref struct StreamResponse(
        StreamResponseWriter<TWriter> writer, RequestStream stream, RequestHead? request, ReadOnlySpan<byte> requestBytes)
        : IPlanWriter<SiteBinding>
    {
        private readonly ReadOnlySpan<byte> _requestBytes = requestBytes;

        public bool IncludesBody => request?.Method != Method.Head;

        public bool PrefersHtml => request is null ? stream.Head.PrefersHtml : writer.PrefersHtml(request, _requestBytes);

        public BodyOpening TryOpen(SiteBinding binding, Asset asset, out BodySource source)
        {
            if (!IncludesBody || !BodySource.IsOpenedOnDemand(asset))
            {
                return BodySource.TryOpen(binding, asset, out source);
            }

            // A sibling that has changed is not sent. It is opened once more later; if it has changed then, its original is sent.
            if (asset.Origin == AssetOrigin.Sibling)
            {
                BodyOpening opening = BodySource.TryOpen(binding, asset, out source);
                if (opening != BodyOpening.Opened)
                {
                    return opening;
                }

                source.Close();
            }

            // The file is opened when its first byte may be sent.
            source = BodySource.Defer(binding, asset);
            return BodyOpening.Opened;
        }

        public void WriteAsset(scoped in ResponsePlan plan, in BodySource source, in AssetPart part) =>
            writer.RespondAsset(stream, plan, source, part, this);

        public void WriteArchive(scoped in ResponsePlan plan, SiteBinding binding) =>
            writer.RespondArchive(stream, plan, binding, this);

        public void WriteBytes(scoped in ResponsePlan plan, ReadOnlySpan<byte> body, byte[]? retained) =>
            writer.RespondBytes(stream, plan, body, retained, IncludesBody);

        public void WriteError(int status) => writer.RespondError(stream, new UnplannedError(status, PrefersHtml), IncludesBody);
    }
}
