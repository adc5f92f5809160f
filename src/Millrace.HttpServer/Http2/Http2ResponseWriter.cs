using Millrace.Engine;
using Millrace.Http;
using Millrace.HttpServer.Archives;
using Millrace.HttpServer.Exchanges;
using Millrace.HttpServer.Heads;
using Millrace.HttpServer.Http1;
using Millrace.HttpServer.Proxying;
using Millrace.StaticFiles.Archives;
using Millrace.StaticFiles.Planning;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.HttpServer.Http2;

/// <summary>
/// Executes plans over HTTP/2: writes heads, and the bodies that can be sent at once; the others are queued. Reactor thread only.
/// </summary>
internal sealed class Http2ResponseWriter(
    Connection connection, SessionReactorState reactorState, SendQueue queue, Http2Streams streams)
{
    /// <summary>Accounted for each of several ranges until it is sent.</summary>
    private const int PartBytes = 256;

    private bool _owesTableUpdate;
    private uint _tableBytes = HpackDecoder.TableBytesMax;

    /// <summary>
    /// The encoder uses no dynamic table; a client that reduces the table size gets one update, in the next block (RFC 7541, section 4.2).
    /// </summary>
    public void SetTable(uint bytes)
    {
        _owesTableUpdate |= bytes < _tableBytes;
        _tableBytes = bytes;
    }

    /// <summary>Begins a response: see <see cref="PlanWriterExtensions.Begin"/>.</summary>
    public void Respond(Http2Stream stream, scoped in ResponsePlan plan, SiteBinding binding, RequestHead head, ReadOnlySpan<byte> bytes)
    {
        var response = new StreamResponse(this, stream, head, bytes);
        response.Begin(plan, binding);
    }

    /// <summary>Answers if a file that was to be opened with its first byte cannot be opened, as if it had been opened at once.</summary>
    public void RespondUnopened(Http2Stream stream, BodyOpening opening)
    {
        ResponsePlan bare = new ResponsePlan(stream.Head.Status, PlanBody.StatusText, stream.Head.Fields);
        stream.Body.Release();
        stream.Head.Release();
        reactorState.Scratch.Reset();
        var response = new StreamResponse(this, stream, request: null, default);
        response.BeginWithoutFile(bare, opening);
    }

    private void RespondAsset(
        Http2Stream stream, scoped in ResponsePlan plan, in BodySource source, in AssetPart part, scoped in StreamResponse response)
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
            stream.Head.Hold(plan, reactorState.Scratch, part, response.PrefersHtml);
            stream.Hold(stream.Head.OwnBytes);
            queue.Enqueue(stream);
            return;
        }

        WriteHead(stream, plan, part.State, new BodyDescription(bytes), FrameFlags.None);
        if (queue.CanSendAtOnce(stream, bytes))
        {
            queue.SendAtOnce(stream, source.Asset.InMemoryBody.Slice((int)first, (int)bytes));
            stream.Body.Release();
            streams.EndResponse(stream);
        }
        else
        {
            queue.Enqueue(stream);
        }
    }

    private void RespondMultipart(Http2Stream stream, scoped in ResponsePlan plan, in BodySource source, bool includesBody)
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
        WriteHead(stream, plan, AssetState.AsPlanned, description, FrameFlags.None);
        queue.Enqueue(stream);
    }

    /// <summary>Sends the head alone. The source is not read: the plan and the description have what is needed.</summary>
    private void RespondHeadOnly(
        Http2Stream stream, scoped in ResponsePlan plan, in BodySource source, AssetState state, in BodyDescription description)
    {
        source.Close();
        WriteHead(stream, plan, state, description, FrameFlags.EndStream);
        streams.EndResponse(stream);
    }

    private void RespondArchive(Http2Stream stream, scoped in ResponsePlan plan, SiteBinding binding, scoped in StreamResponse response)
    {
        var description = new BodyDescription(BodyDescription.UnknownBytes, plan.Archive!.Format.ContentType());
        if (!response.IncludesBody)
        {
            WriteHead(stream, plan, AssetState.AsPlanned, description, FrameFlags.EndStream);
            streams.EndResponse(stream);
        }
        else if (ArchiveStream.TryBegin(connection.Reactor, plan.Archive, binding.Current) is { } archive)
        {
            archive.Progressed = stream.SourceProgressed;
            stream.Body.Begin(archive, owns: true);
            WriteHead(stream, plan, AssetState.AsPlanned, description, FrameFlags.None);
            queue.Enqueue(stream);
        }
        else
        {
            response.WriteError(PlanStatus.ServiceUnavailable);
        }
    }

    private void RespondBytes(Http2Stream stream, scoped in ResponsePlan plan, ReadOnlySpan<byte> body, byte[]? retained, bool includesBody)
    {
        bool hasBody = includesBody && body.Length > 0;
        FrameFlags flags = hasBody ? FrameFlags.None : FrameFlags.EndStream;
        WriteHead(stream, plan, AssetState.AsPlanned, new BodyDescription(body.Length), flags);
        EndWith(stream, hasBody ? body : default, retained);
    }

    /// <summary>Refuses a request for lack of memory. A body that would have to wait is left out: the request must hold nothing.</summary>
    public void RespondOverloaded(Http2Stream stream, bool prefersHtml, bool includesBody)
    {
        var error = new UnplannedError(503, prefersHtml);
        RespondError(stream, error, includesBody && queue.CanSendAtOnce(stream, error.Body.Length));
    }

    public void RespondError(Http2Stream stream, UnplannedError error, bool includesBody)
    {
        FieldBlockWriter writer = BeginHead(PlanHeadWriter.ErrorBytesMax, out Span<byte> room);
        PlanHeadWriter.WriteError(ref writer, error);
        stream.Exchange?.SetResponse(error.Status, includesBody ? ResponseBodySource.Text : ResponseBodySource.None);
        EndHead(ref writer, room, stream, includesBody ? FrameFlags.None : FrameFlags.EndStream);
        EndWith(stream, includesBody ? error.Body : default, error.Page?.Bytes);
    }

    private bool PrefersHtml(RequestHead request, ReadOnlySpan<byte> bytes) => reactorState.Planner.PrefersHtml(request, bytes);

    private void EndWith(Http2Stream stream, ReadOnlySpan<byte> body, byte[]? retained)
    {
        if (!body.IsEmpty && !queue.CanSendAtOnce(stream, body.Length))
        {
            stream.Body.BeginText(retained ?? body.ToArray());
            stream.Hold(retained is null ? body.Length : 0);
            queue.Enqueue(stream);
            return;
        }

        if (!body.IsEmpty)
        {
            queue.SendAtOnce(stream, body);
        }

        streams.EndResponse(stream);
    }

    private void WriteHead(Http2Stream stream, scoped in ResponsePlan plan, AssetState state, in BodyDescription body, FrameFlags flags)
    {
        FieldBlockWriter writer = BeginHead(PlanHeadWriter.BytesMax<FieldBlockWriter>(plan, reactorState.Scratch), out Span<byte> room);
        PlanHeadWriter.Write(ref writer, plan, reactorState.Scratch, state, body);
        stream.Exchange?.SetResponse(plan, state, includesBody: (flags & FrameFlags.EndStream) == 0);
        EndHead(ref writer, room, stream, flags);
    }

    /// <summary>Writes a head that was deferred until the first bytes of its body were read.</summary>
    public void WriteDeferredHead(Http2Stream stream, FrameFlags flags)
    {
        FieldBlockWriter writer = BeginHead(stream.Head.BytesMax, out Span<byte> room);
        stream.Head.Report(stream.Exchange);
        if (stream.Head.Attempts == 0)
        {
            stream.Head.Write(ref writer);
        }
        else
        {
            // A file that was read in one piece has a length; for a larger file only its present end is known.
            OutgoingBody body = stream.Body;
            stream.Head.WriteUncertain(ref writer, body.Remaining == body.Ready ? body.Remaining : BodyDescription.UnknownBytes);
        }

        EndHead(ref writer, room, stream, flags);
        stream.Head.Release();
    }

    /// <summary>Passes an upstream's informational response on.</summary>
    public void WriteInformational(Http2Stream stream, in ProxyResponseHead response, bool sendsVia)
    {
        if (response.IsValid)
        {
            FieldBlockWriter writer = BeginHead(response.BytesMax<FieldBlockWriter>(), out Span<byte> room);
            _ = response.Write(ref writer, ProxyHeadKind.Informational, sendsVia);
            EndBlock(ref writer, room, stream, FrameFlags.None);
        }
    }

    /// <summary>Passes the head of an upstream's response on.</summary>
    public void WriteUpstreamHead(Http2Stream stream, in ProxyResponseHead response, int status, bool sendsVia, bool hasBody)
    {
        FieldBlockWriter writer = BeginHead(response.BytesMax<FieldBlockWriter>(), out Span<byte> room);
        if (!response.Write(ref writer, stream.Proxied!.IsTunnel ? ProxyHeadKind.ExtendedConnect : ProxyHeadKind.Final, sendsVia))
        {
            writer.Lines(reactorState.Date.BlockAt(reactorState.NowMs));
        }

        stream.Exchange?.SetResponse(status, hasBody ? ResponseBodySource.Upstream : ResponseBodySource.None);
        EndBlock(ref writer, room, stream, hasBody ? FrameFlags.None : FrameFlags.EndStream);
    }

    /// <summary>Ends a response after its body: by an empty frame, or by its trailers, of which those that may pass are written.</summary>
    public void WriteEnd(Http2Stream stream, ReadOnlySpan<byte> trailerLines)
    {
        if (trailerLines.IsEmpty)
        {
            queue.SendAtOnce(stream, default);
            return;
        }

        int fields = trailerLines.Count((byte)'\n');
        FieldBlockWriter writer = BeginHead(
            trailerLines.Length + (fields * FieldBlockWriter.FieldOverheadBytesMax), out Span<byte> room);
        var trailers = new TrailerLines(trailerLines);
        while (trailers.MoveNext())
        {
            writer.Field(trailers.Name, trailers.Value);
        }

        EndBlock(ref writer, room, stream, FrameFlags.EndStream);
    }

    /// <summary>Reserves room for a head after its frame header, and writes a pending table size update.</summary>
    private FieldBlockWriter BeginHead(int blockBytesMax, out Span<byte> room)
    {
        room = connection.GetSpan(FrameHeader.Size + FieldBlockWriter.TableSizeUpdateBytes + blockBytesMax);
        var writer = new FieldBlockWriter(room[FrameHeader.Size..]);
        if (_owesTableUpdate)
        {
            writer.TableSizeUpdate();
        }

        return writer;
    }

    private void EndHead(ref FieldBlockWriter writer, Span<byte> room, Http2Stream stream, FrameFlags flags)
    {
        writer.Lines(reactorState.Date.BlockAt(reactorState.NowMs));
        EndBlock(ref writer, room, stream, flags);
    }

    private void EndBlock(ref FieldBlockWriter writer, Span<byte> room, Http2Stream stream, FrameFlags flags)
    {
        int bytes = writer.Finish();
        _owesTableUpdate = false;
        if (bytes <= FrameHeader.DefaultLengthMax)
        {
            FrameHeader.Write(room, bytes, FrameType.Headers, flags | FrameFlags.EndHeaders, stream.Id);
            connection.Advance(FrameHeader.Size + bytes);
        }
        else
        {
            WriteInPieces(room.Slice(FrameHeader.Size, bytes).ToArray(), stream.Id, flags);
        }

        stream.EndsAt = connection.WrittenBytes;
    }

    /// <summary>Splits a block that is larger than a frame, which only long fields of rules cause; it allocates.</summary>
    private void WriteInPieces(ReadOnlySpan<byte> block, int streamId, FrameFlags flags)
    {
        for (FrameType type = FrameType.Headers; !block.IsEmpty; type = FrameType.Continuation)
        {
            int bytes = Math.Min(block.Length, FrameHeader.DefaultLengthMax);
            flags |= bytes == block.Length ? FrameFlags.EndHeaders : FrameFlags.None;
            FrameHeader.Write(connection.GetSpan(FrameHeader.Size), bytes, type, flags, streamId);
            connection.Advance(FrameHeader.Size);
            connection.Write(block[..bytes]);
            block = block[bytes..];
            flags = FrameFlags.None;
        }
    }

    /// <summary>The response of one stream.</summary>
    /// <param name="writer">Writes it.</param>
    /// <param name="stream">The stream.</param>
    /// <param name="request">The request; null if it is not known any more, as it waited for its file. It is then not HEAD.</param>
    /// <param name="requestBytes">What the request was parsed from.</param>
    private readonly ref struct StreamResponse(
        Http2ResponseWriter writer, Http2Stream stream, RequestHead? request, ReadOnlySpan<byte> requestBytes) : IPlanWriter<SiteBinding>
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
