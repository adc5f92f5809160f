namespace Millrace.Server.Options;

/// <summary>What an option is about.</summary>
internal enum OptionScope
{
    /// <summary>The process: it is said once.</summary>
    Server,

    /// <summary>A site: each virtual host of a file may say its own.</summary>
    Site,
}
