namespace Millrace.Http;

/// <summary>Whether a field may stand in a compression context, RFC 7541 section 7.1.3.</summary>
internal enum FieldSensitivity : byte
{
    Plain,

    /// <summary>A secret that must never be indexed, by no intermediary either: what is indexed can be guessed piece by piece.</summary>
    NeverIndexed,
}
