namespace Millrace.Server.Options;

/// <summary>When a running server takes another value of an option.</summary>
internal enum OptionChange
{
    /// <summary>When it reads its file anew, at SIGHUP.</summary>
    AtReload,

    /// <summary>Not before it is started again.</summary>
    AtRestart,
}
