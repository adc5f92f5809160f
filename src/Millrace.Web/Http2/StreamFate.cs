namespace Millrace.Web.Http2;

/// <summary>What has become of a stream whose number is not above the highest that the client has used.</summary>
internal enum StreamFate : byte
{
    /// <summary>Its number was passed over, and may not be used any more.</summary>
    Skipped,

    /// <summary>It was opened. If it is not there any more, the client has ended it or knows of its end.</summary>
    Opened,

    /// <summary>It was ended by us, which the client may have heard of only later.</summary>
    Reset,

    /// <summary>Its number is too far below the highest one.</summary>
    Forgotten,
}
