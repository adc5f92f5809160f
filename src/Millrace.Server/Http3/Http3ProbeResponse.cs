using System.Buffers.Text;
using Millrace.Http;

namespace Millrace.Server.Http3;

/// <summary>
/// Takes the fields of one head of a response, keeps its status, and finds what makes it malformed (RFC 9114, sections 4.2 and 4.3.2). One
/// for each head.
/// </summary>
internal sealed class Http3ProbeResponse : IHpackSink
{
    /// <summary>Such a status, and no greater one, is informational: the response follows.</summary>
    private const int InformationalMax = 199;

    private bool _hasFields;
    private bool _isWrong;

    /// <summary>0 before it is known.</summary>
    public int Status { get; private set; }

    /// <summary>After the last field: it must not be accepted.</summary>
    public bool IsMalformed => _isWrong || Status == 0;

    public bool IsInformational => Status <= InformationalMax;

    public void OnField(ReadOnlySpan<byte> name, ReadOnlySpan<byte> value, int staticIndex)
    {
        if (!name.IsEmpty && name[0] == ':')
        {
            _isWrong |= _hasFields || Status != 0 || !name.SequenceEqual(":status"u8) || !TryReadStatus(value);
            return;
        }

        _hasFields = true;

        // Section 4.2: only requests may have TE.
        _isWrong |= name.SequenceEqual("te"u8) || FieldRules.Check(name, value, staticIndex: 0) != HeadRefusal.None;
    }

    private bool TryReadStatus(ReadOnlySpan<byte> value)
    {
        bool isNumber = Utf8Parser.TryParse(value, out int status, out int length) && length == value.Length;
        bool isStatus = isNumber && length == 3 && status >= 100;
        Status = isStatus ? status : 0;
        return isStatus;
    }
}
