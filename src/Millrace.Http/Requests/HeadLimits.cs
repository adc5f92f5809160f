namespace Millrace.Http;

/// <summary>How much of a request's head is read before it is refused. Bytes count from the request line's first one.</summary>
internal readonly struct HeadLimits
{
    /// <summary>A line shorter than this is no limit but a mistake, and the parser loads its bytes 32 at a time.</summary>
    private const int BytesMin = 64;

    /// <summary>
    /// 414 from here on, CRLF included. RFC 9112 section 3 asks for 8000 at least; nginx, Apache and Kestrel stop near 8 KiB, so
    /// what passes here passes there. 64 more are for method, version and CRLF around a target of 8 KiB.
    /// </summary>
    public int RequestLineBytesMax { get; }

    /// <summary>
    /// 431 from here on, the empty line included. 32 KiB hold what browsers send with all the cookies of one site; it is also what
    /// one connection may pin while its head is on the way.
    /// </summary>
    public int HeadBytesMax { get; }

    /// <summary>431 above. Browsers send about 15 and chains of proxies double that; Apache and Kestrel allow 100 too.</summary>
    public int FieldsMax { get; }

    public HeadLimits(int requestLineBytesMax, int headBytesMax, int fieldsMax)
    {
        ArgumentOutOfRangeException.ThrowIfLessThan(requestLineBytesMax, BytesMin);
        ArgumentOutOfRangeException.ThrowIfLessThan(headBytesMax, requestLineBytesMax);
        ArgumentOutOfRangeException.ThrowIfLessThan(fieldsMax, 1);
        ArgumentOutOfRangeException.ThrowIfGreaterThan(fieldsMax, short.MaxValue);
        RequestLineBytesMax = requestLineBytesMax;
        HeadBytesMax = headBytesMax;
        FieldsMax = fieldsMax;
    }

    public static HeadLimits Default { get; } = new(requestLineBytesMax: (8 * 1024) + 64, headBytesMax: 32 * 1024, fieldsMax: 100);
}
