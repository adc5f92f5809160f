namespace Millrace.Http;

/// <summary>The four forms of a request target, RFC 9112 section 3.2.</summary>
internal enum TargetForm : byte
{
    Origin,
    Absolute,
    Authority,
    Asterisk,
}
