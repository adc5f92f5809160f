using System.Buffers;
using System.IO.Compression;
using Millrace.Http;
using Millrace.Interop.Zstd;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.StaticFiles.Compression;

/// <summary>
/// Decodes a coded file as strictly as the strictest client: one stream of its coding, complete, with nothing after it. Reports faults as
/// verdicts. One thread.
/// </summary>
internal abstract class BodyDecoder : IDisposable
{
    /// <summary>What a decoder holds of the file. Between two pieces the read can be cancelled.</summary>
    protected const int PieceBytes = 64 * 1024;

    /// <summary>After the end: whether the file was one complete stream. It is not compared with anything.</summary>
    public SiblingVerdict Verdict { get; protected set; }

    /// <summary>A decoder for a coding; null if this system has none.</summary>
    public static BodyDecoder? TryCreate(ContentCoding coding, AssetStream source) => coding switch
    {
        ContentCoding.Gzip => new GzipBodyDecoder(source),
        ContentCoding.Brotli => new BrotliBodyDecoder(source),
        ContentCoding.Zstd when ZstdLibrary.TryLoad(out ZstdLibrary? library) => new ZstdBodyDecoder(library, source),
        _ => null,
    };

    /// <summary>The number of bytes decoded; 0 at the end, after which <see cref="Verdict"/> is set.</summary>
    public abstract int Read(Span<byte> room);

    public void Dispose()
    {
        Dispose(true);
        GC.SuppressFinalize(this);
    }

    protected abstract void Dispose(bool disposing);
}

/// <summary>A decoder that takes the file piece by piece, and says where its stream ends.</summary>
internal abstract class PieceDecoder(AssetStream source) : BodyDecoder
{
    private readonly byte[] _piece = new byte[PieceBytes];
    private int _at;
    private int _end;
    private bool _isDone;

    /// <summary>Whether a body may consist of several streams, one after the other.</summary>
    protected virtual bool TakesSeveral => false;

    public override int Read(Span<byte> room)
    {
        while (!_isDone)
        {
            OperationStatus status = Decode(_piece.AsSpan(_at, _end - _at), room, out int consumed, out int written);
            _at += consumed;
            _isDone = status == OperationStatus.Done && !(TakesSeveral && source.Remaining > 0);
            if (written > 0)
            {
                return written;
            }

            bool isShort = status is OperationStatus.NeedMoreData or OperationStatus.Done;
            if (!_isDone && !(isShort && _at == _end && Fill()))
            {
                Verdict = isShort ? SiblingVerdict.Incomplete : SiblingVerdict.Invalid;
                return 0;
            }
        }

        Verdict = _at < _end || source.Remaining > 0 ? SiblingVerdict.Extended : SiblingVerdict.Proven;
        return 0;
    }

    protected abstract OperationStatus Decode(ReadOnlySpan<byte> piece, Span<byte> room, out int consumed, out int written);

    private bool Fill()
    {
        _at = 0;
        _end = source.Read(_piece);
        return _end > 0;
    }
}

/// <summary>Brotli (RFC 7932), in the windows that it defines: clients know no larger ones.</summary>
internal sealed class BrotliBodyDecoder(AssetStream source) : PieceDecoder(source)
{
    private BrotliDecoder _decoder;

    protected override OperationStatus Decode(ReadOnlySpan<byte> piece, Span<byte> room, out int consumed, out int written) =>
        _decoder.Decompress(piece, room, out consumed, out written);

    protected override void Dispose(bool disposing) => _decoder.Dispose();
}

/// <summary>Zstandard (RFC 8878), of one frame or several, in windows of up to 8 MiB (RFC 9659).</summary>
internal sealed class ZstdBodyDecoder(ZstdLibrary library, AssetStream source) : PieceDecoder(source)
{
    private readonly ZstdDecoder _decoder = new(library);

    protected override bool TakesSeveral => true;

    protected override OperationStatus Decode(ReadOnlySpan<byte> piece, Span<byte> room, out int consumed, out int written) =>
        _decoder.Decompress(piece, room, out consumed, out written);

    protected override void Dispose(bool disposing) => _decoder.Dispose();
}
