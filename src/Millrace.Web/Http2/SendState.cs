namespace Millrace.Web.Http2;

/// <summary>What an answer waits for.</summary>
internal enum SendState : byte
{
    /// <summary>There is none, or all of it is in the output.</summary>
    Idle,

    /// <summary>Its turn.</summary>
    Ready,

    /// <summary>The disk.</summary>
    Reading,

    /// <summary>Others' chunks to be sent: there is a limit on what is read ahead.</summary>
    ReadAhead,

    /// <summary>The client's WINDOW_UPDATE for the stream.</summary>
    StreamWindow,

    /// <summary>The same for the connection.</summary>
    ConnectionWindow,
}
