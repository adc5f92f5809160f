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
    private int _written;

    /// <summary>Where the upstream's own host goes; 0 if the request has one.</summary>
    private int _hostAt;

    private static ReadOnlySpan<byte> HostName => "Host: "u8;

    private static ReadOnlySpan<byte> ChunkedLine => "Transfer-Encoding: chunked\r\n"u8;

    private static ReadOnlySpan<byte> Crlf => "\r\n"u8;

    public Method Method { get; private set; }

    public BodyFraming Body { get; private set; }

    public bool IsUpgrade { get; private set; }

    /// <inheritdoc cref="UpstreamRequest.IsHeld"/>
    public bool IsHeld { get; private set; }

    /// <summary>
    /// Bytes of the body that its announced length lacks; 0 if it needs none. Until they are written the upstream would take another
    /// request on the connection for them.
    /// </summary>
    public long MissingBodyBytes { get; private set; }

    public void Set(in UpstreamRequest request)
    {
        Debug.Assert(request.Line.EndsWith("\r\n"u8) && (request.Fields.IsEmpty || request.Fields.EndsWith("\r\n"u8)));
        Method = request.Method;
        Body = request.Body;
        IsUpgrade = request.IsUpgrade;
        IsHeld = request.IsHeld;
        MissingBodyBytes = request.Body == BodyFraming.Length ? request.BodyBytes : 0;
        int most = request.Line.Length + HostName.Length + request.Host.Length + request.Fields.Length + ChunkedLine.Length
            + (2 * Crlf.Length);
        if (_bytes.Length < most)
        {
            _bytes = new byte[BitOperations.RoundUpToPowerOf2((uint)most)];
        }

        _written = 0;
        Append(request.Line);
        _hostAt = request.Host.IsEmpty ? _written : 0;
        if (_hostAt == 0)
        {
            Append(HostName);
            Append(request.Host);
            Append(Crlf);
        }

        Append(request.Fields);
        Append(Crlf);
    }

    /// <summary>Ends <see cref="IsHeld"/>, with a body of chunks or without one.</summary>
    public void Decide(bool hasBody)
    {
        Debug.Assert(IsHeld && Body == BodyFraming.None && MissingBodyBytes == 0);
        IsHeld = false;
        if (hasBody)
        {
            Body = BodyFraming.Chunked;
            _written -= Crlf.Length;
            Append(ChunkedLine);
            Append(Crlf);
        }
    }

    /// <summary>Writes the head.</summary>
    /// <param name="connection">Where to.</param>
    /// <param name="authority">The upstream's own, for a request without a host of its own.</param>
    public void WriteTo(Connection connection, ReadOnlySpan<byte> authority)
    {
        ReadOnlySpan<byte> bytes = _bytes.AsSpan(0, _written);
        if (_hostAt > 0)
        {
            connection.Write(bytes[.._hostAt]);
            connection.Write(HostName);
            connection.Write(authority);
            connection.Write(Crlf);
        }

        connection.Write(bytes[_hostAt..]);
    }

    /// <summary>Counts bytes of the body; false if the upstream would take some of them for another request.</summary>
    public bool TryCountBody(int bytes)
    {
        bool isWithin = Body != BodyFraming.Length || bytes <= MissingBodyBytes;
        MissingBodyBytes -= Body == BodyFraming.Length && isWithin ? bytes : 0;
        return isWithin;
    }

    public void Clear()
    {
        if (_bytes.Length > KeptBytesMax)
        {
            _bytes = new byte[KeptBytesMax];
        }
    }

    private void Append(ReadOnlySpan<byte> bytes)
    {
        bytes.CopyTo(_bytes.AsSpan(_written));
        _written += bytes.Length;
    }
}
