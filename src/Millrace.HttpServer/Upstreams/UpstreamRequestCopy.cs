using System.Diagnostics;
using System.Numerics;
using Millrace.Engine;
using Millrace.Http;

namespace Millrace.HttpServer.Upstreams;

/// <summary>The copy of a request that an exchange sends, perhaps twice. Owned by the exchange. Reactor thread only.</summary>
internal sealed class UpstreamRequestCopy
{
    /// <summary>A larger copy is not kept for the next exchange.</summary>
    private const int KeptBytesMax = 16 * 1024;

    private byte[] _bytes = new byte[1024];
    private int _lineEnd;
    private int _hostEnd;
    private int _end;

    public Method Method { get; private set; }

    public BodyFraming Body { get; private set; }

    public bool IsUpgrade { get; private set; }

    public void Set(in UpstreamRequest request)
    {
        Debug.Assert(request.Line.EndsWith("\r\n"u8) && (request.Fields.IsEmpty || request.Fields.EndsWith("\r\n"u8)));
        Method = request.Method;
        Body = request.Body;
        IsUpgrade = request.IsUpgrade;
        _lineEnd = request.Line.Length;
        _hostEnd = _lineEnd + request.Host.Length;
        _end = _hostEnd + request.Fields.Length;
        if (_bytes.Length < _end)
        {
            _bytes = new byte[BitOperations.RoundUpToPowerOf2((uint)_end)];
        }

        request.Line.CopyTo(_bytes);
        request.Host.CopyTo(_bytes.AsSpan(_lineEnd));
        request.Fields.CopyTo(_bytes.AsSpan(_hostEnd));
    }

    /// <summary>Writes the head.</summary>
    /// <param name="connection">Where to.</param>
    /// <param name="authority">The upstream's own, for a request without a host of its own.</param>
    public void WriteTo(Connection connection, ReadOnlySpan<byte> authority)
    {
        ReadOnlySpan<byte> bytes = _bytes.AsSpan(0, _end);
        connection.Write(bytes[.._lineEnd]);
        connection.Write("Host: "u8);
        connection.Write(_hostEnd > _lineEnd ? bytes[_lineEnd.._hostEnd] : authority);
        connection.Write("\r\n"u8);
        connection.Write(bytes[_hostEnd..]);
        connection.Write("\r\n"u8);
    }

    public void Clear()
    {
        if (_bytes.Length > KeptBytesMax)
        {
            _bytes = new byte[KeptBytesMax];
        }
    }
}
