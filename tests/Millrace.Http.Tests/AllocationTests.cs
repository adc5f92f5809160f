using Millrace.Tests.Shared;

namespace Millrace.Http.Tests;

/// <summary>Nothing here allocates per request, in Debug builds neither. A first call may: static tables, JIT.</summary>
public class AllocationTests
{
    private const int Calls = 10_000;

    private static readonly byte[] Browser = Latin1.Bytes(
        "\r\nGET http://example.org/a/%62/../c?d HTTP/1.1\r\nHost: [::1]:80\r\nConnection: keep-alive, TE\r\n"
        + "User-Agent: Mozilla/5.0 (X11)\r\nAccept: text/html;q=0.8\r\nAccept: */*\r\nX-Unknown-Field: a\tb\r\n"
        + "Expect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n");

    [Fact]
    public void Parsing_a_head_allocates_nothing()
    {
        var head = new RequestHead();
        HeadLimits limits = HeadLimits.Default;
        AllocatesNothing(() => Assert.True(RequestHeadParser.Parse(Browser, head, limits).IsComplete));
    }

    [Fact]
    public void Parsing_every_prefix_of_a_head_allocates_nothing()
    {
        var head = new RequestHead();
        HeadLimits limits = HeadLimits.Default;
        int length = 0;
        AllocatesNothing(() =>
        {
            length = (length + 1) % Browser.Length;
            if (RequestHeadParser.MayBeDecided(Browser.AsSpan(0, length), length / 2, limits))
            {
                RequestHeadParser.Parse(Browser.AsSpan(0, length), head, limits);
            }
        });
    }

    [Fact]
    public void Refusing_a_head_allocates_nothing()
    {
        var head = new RequestHead();
        HeadLimits limits = HeadLimits.Default;
        byte[] bytes = Latin1.Bytes("GET / HTTP/1.1\r\nHost: a\r\nBroken\x01: b\r\n");
        AllocatesNothing(() => Assert.True(RequestHeadParser.Parse(bytes, head, limits).IsRefused));
    }

    [Fact]
    public void Reading_the_fields_of_a_head_allocates_nothing()
    {
        var head = new RequestHead();
        RequestHeadParser.Parse(Browser, head, HeadLimits.Default);
        int bytes = 0;
        AllocatesNothing(() =>
        {
            foreach (TextRange value in head.ValuesOf(FieldName.Accept))
            {
                foreach (ReadOnlySpan<byte> element in new ElementList(value.In(Browser)))
                {
                    bytes += element.Length;
                }
            }
        });
        Assert.True(bytes > 0);
    }

    [Fact]
    public void Decoding_paths_bodies_and_dates_allocates_nothing()
    {
        byte[] path = Latin1.Bytes("/a/%62/../c");
        byte[] body = Latin1.Bytes("5;a=\"b\"\r\nhello\r\n0\r\nA: b\r\n\r\n");
        byte[] destination = new byte[100];
        AllocatesNothing(() =>
        {
            TargetPath.Decode(path, destination, out _);
            var decoder = default(ChunkedDecoder);
            decoder.Read(body, out int consumed, out _);
            decoder.Read(body.AsSpan(consumed), out _, out _);
            HttpDate.TryWrite(784111777, destination);
            _ = HttpDate.TryParse(destination.AsSpan(0, HttpDate.Bytes), 0, out _);
        });
    }

    [Fact]
    public void Writing_a_head_allocates_nothing()
    {
        byte[] destination = new byte[200];
        AllocatesNothing(() =>
        {
            var writer = new ResponseHeadWriter(destination);
            writer.Status(404);
            writer.Field("Content-Type"u8, "text/html"u8);
            writer.ContentLength(1234);
            writer.Lines("Server: m\r\n"u8);
            Assert.True(writer.Finish() > 0);
        });
    }

    [Fact]
    public void Evaluating_conditions_allocates_nothing()
    {
        byte[] tags = Latin1.Bytes("\"a\", W/\"b,c\", \"d\"");
        byte[] date = Latin1.Bytes("Sunday, 06-Nov-94 08:49:37 GMT");
        AllocatesNothing(() =>
        {
            var current = new Validators { EntityTag = "\"d\""u8, LastModified = 784111777, IsDateStrong = true };
            var byTag = new ConditionFields { IfMatch = tags, IfNoneMatch = tags, IfRange = "\"d\""u8 };
            var byDate = new ConditionFields { IfUnmodifiedSince = date, IfModifiedSince = date, IfRange = date };
            Assert.True(Preconditions.Evaluate(byTag, current) == PreconditionOutcome.NotModified);
            Assert.True(Preconditions.Evaluate(byDate, current) == PreconditionOutcome.NotModified);
            Assert.True(Preconditions.RangeApplies(byTag, current) && Preconditions.RangeApplies(byDate, current));
        });
    }

    [Fact]
    public void Selecting_ranges_allocates_nothing()
    {
        byte[] range = Latin1.Bytes("bytes=0-0, 500-600,,700-900 ,-1, 99999999999999999999-");
        var ranges = new ByteRange[ByteRanges.Max];
        byte[] destination = new byte[ContentRange.MaxBytes];
        AllocatesNothing(() =>
        {
            Assert.True(ByteRanges.Select(range, 1000, ranges, out int count) == RangeOutcome.Partial && count == 4);
            ContentRange.Write(destination, ranges[1], 1000);
            ContentRange.WriteUnsatisfied(destination, 1000);
        });
    }

    [Fact]
    public void Negotiating_and_reading_credentials_allocates_nothing()
    {
        byte[] codings = Latin1.Bytes("gzip;q=0.5, deflate, br;q=oops, *;q=0.1, identity;q=0");
        byte[] types = Latin1.Bytes("text/html;level=\"1,2\";q=0.5, application/json, */*;q=0.1");
        byte[] authorization = Latin1.Bytes("Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
        byte[] destination = new byte[100];
        AllocatesNothing(() =>
        {
            Assert.True(AcceptEncoding.TryChoose(codings, CodingSet.Identity | CodingSet.Gzip, out _));
            Assert.True(Accept.PrefersJson(types) && Accept.NamesHtml(types));
            Assert.True(BasicCredentials.TryDecode(authorization, destination, out _, out _));
        });
    }

    [Fact]
    public void Decoding_field_blocks_into_a_request_allocates_nothing()
    {
        // The dynamic table is full after some rounds, so entries come, go, slide and are found.
        byte[] block = Convert.FromHexString(
            "828784" + "418CF1E3C2E5F23A6BA0AB90F4FF" + "408825A849E95BA97D7F8925A849E95BB8E8B4BF" + "BE" + "6003613D62" + "6003633D64");
        var decoder = new HpackDecoder();
        var fields = new RequestFields(HeadLimits.Default);
        byte[] scratch = new byte[HpackDecoder.ScratchBytes(block.Length)];
        AllocatesNothing(() =>
        {
            fields.Begin();
            Assert.True(decoder.Decode(block, scratch, fields) == HpackResult.Ok);
            Assert.True(fields.Conclude() == HeadRefusal.None && fields.Head.Fields.Length == 4);
        });
        Assert.True(decoder.Table.Bytes > 3_900);
    }

    [Fact]
    public void Refusing_fields_and_blocks_allocates_nothing()
    {
        byte[] malformed = Convert.FromHexString("828784" + "0001" + "41" + "0161");
        var decoder = new HpackDecoder();
        var fields = new RequestFields(HeadLimits.Default);
        byte[] scratch = new byte[HpackDecoder.ScratchBytes(malformed.Length)];
        AllocatesNothing(() =>
        {
            fields.Begin();
            Assert.True(decoder.Decode(malformed, scratch, fields) == HpackResult.Ok);
            Assert.True(fields.Conclude() == HeadRefusal.UpperCaseName);
            Assert.True(decoder.Decode(malformed.AsSpan(0, 6), scratch, sink: null) == HpackResult.Truncated);
        });
    }

    [Fact]
    public void Encoding_fields_allocates_nothing()
    {
        byte[] room = new byte[200];
        AllocatesNothing(() =>
        {
            var writer = new FieldBlockWriter(room);
            writer.Status(206);
            writer.Field("Content-Type"u8, "text/html"u8);
            writer.Field("x-unknown"u8, "0123456789"u8);
            writer.ContentLength(1234);
            Assert.True(writer.Finish() > 20);
        });
    }

    [Fact]
    public void Reading_and_writing_frames_allocates_nothing()
    {
        byte[] room = new byte[100];
        Setting[] settings = [new(SettingId.MaxConcurrentStreams, 100), new(SettingId.InitialWindowSize, 65536)];
        AllocatesNothing(() =>
        {
            int bytes = FrameWriter.Settings(room, settings);
            FrameHeader header = FrameHeader.Read(room);
            ReadOnlySpan<byte> payload = room.AsSpan(FrameHeader.Size, header.Length);
            Assert.True(new SettingList(payload).MoveNext());
            FrameWriter.WindowUpdate(room.AsSpan(bytes), 1, 1000);
            header = FrameHeader.Read(room.AsSpan(bytes));
            payload = room.AsSpan(bytes + FrameHeader.Size, header.Length);
            Assert.True(FramePayload.TryWindowUpdate(header, payload, out int increment, out _) && increment == 1000);
            Assert.True(ConnectionPreface.Match(room) == PrefaceMatch.No && StreamPriority.Parse("u=1, i"u8).Urgency == 1);
        });
    }

    [Fact]
    public void Decoding_sections_and_instructions_into_a_request_allocates_nothing()
    {
        // The dynamic table is full after some rounds; each round inserts an entry in two pieces, and refers to it before and after it
        // came.
        byte[] begin = Convert.FromHexString("6825A849E95BA97D7F");
        byte[] end = Convert.FromHexString("8925A849E95BB8E8B4BF");
        byte[] section = Convert.FromHexString("0000" + "D1D7C1" + "508CF1E3C2E5F23A6BA0AB90F4FF" + "80");
        var decoder = new QpackDecoder(2048, 16);
        var fields = new RequestFields(HeadLimits.Default);
        byte[] scratch = new byte[QpackDecoder.ScratchBytes(2048, section.Length)];
        decoder.ReadInstructions([0x3F, 0xE1, 0x0F], scratch);
        long stream = 0;
        AllocatesNothing(() =>
        {
            // 64 entries at most: the count is sent modulo 128.
            section[0] = (byte)(((decoder.InsertCount + 1) % 128) + 1);
            Assert.True(decoder.Decode(stream, section, scratch, fields) == QpackResult.Blocked);
            Assert.True(decoder.ReadInstructions(begin, scratch) == QpackResult.Ok);
            Assert.True(decoder.ReadInstructions(end, scratch) == QpackResult.Ok);
            Assert.True(decoder.TryTakeUnblocked(out long unblocked) && unblocked == stream);
            fields.Begin(isHttp3: true);
            Assert.True(decoder.Decode(stream, section, scratch, fields) == QpackResult.Ok);
            Assert.True(fields.Conclude() == HeadRefusal.None && fields.Head.Fields.Length == 2);
            Assert.True(decoder.Cancel(stream) == QpackResult.Ok && decoder.AcknowledgeInsertions() == QpackResult.Ok);
            decoder.Advance(decoder.Output.Length);
            stream = (stream + 4) % 64;
        });
        Assert.True(decoder.Table.Bytes > 1_900);
    }

    [Fact]
    public void Encoding_sections_allocates_nothing()
    {
        byte[] room = new byte[200];
        AllocatesNothing(() =>
        {
            var writer = new QpackBlockWriter(room);
            writer.Prefix();
            writer.Status(206);
            writer.Field("Content-Type"u8, "text/html"u8);
            writer.Field("x-unknown"u8, "0123456789"u8);
            writer.ContentLength(1234);
            Assert.True(writer.Finish() > 20);
        });
    }

    [Fact]
    public void Reading_and_writing_frames_of_http3_allocates_nothing()
    {
        byte[] room = new byte[100];
        var settings = new Http3Settings { TableBytesMax = 4096, BlockedStreamsMax = 16 };
        var control = new Http3ControlReader(isServer: true);
        Assert.Equal(Http3ControlEvent.Settings, control.Read(room.AsSpan(0, Http3FrameWriter.Settings(room, settings)), out _));
        AllocatesNothing(() =>
        {
            var frames = new Http3FrameReader(Http3StreamKind.Request);
            int bytes = Http3FrameWriter.WriteHeader(room, Http3FrameType.Headers, 10) + 10;
            Assert.True(frames.Read(room.AsSpan(0, bytes), out int consumed, out _) == Http3FrameEvent.Begin);
            Assert.True(frames.Read(room.AsSpan(consumed, bytes - consumed), out _, out _) == Http3FrameEvent.Payload);
            Assert.True(frames.Read([], out _, out _) == Http3FrameEvent.End && frames.ErrorOfEnd == Http3Error.None);
            bytes = Http3FrameWriter.Settings(room, settings);
            Assert.True(Http3Settings.TryParse(room.AsSpan(2, bytes - 2), out Http3Settings read, out _) && read == settings);
            bytes = Http3FrameWriter.PriorityUpdate(room, 4, "u=1, i"u8);
            Assert.True(control.Read(room.AsSpan(0, bytes), out _) == Http3ControlEvent.PriorityUpdate && control.Id == 4);
            Assert.True(control.Read([], out _) == Http3ControlEvent.NeedMore);
        });
    }

    private static void AllocatesNothing(Action action)
    {
        long allocated = Allocations.OfEach(() =>
        {
            for (int call = 0; call < Calls; call++)
            {
                action();
            }
        });
        Assert.Equal(0, allocated);
    }
}
