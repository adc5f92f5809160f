namespace Millrace.StaticFiles.Options;

/// <summary>What the text of an option is: what a schema says of it, and how a reference page explains it.</summary>
internal enum OptionValueKind
{
    /// <summary>on or off; the bare flag means on.</summary>
    Switch,

    /// <summary>One of <see cref="SiteOption.Choices"/>.</summary>
    Choice,

    /// <summary>A number of things.</summary>
    Count,

    /// <summary>A number of bytes: 4096, 64k, 256m, 1g.</summary>
    Size,

    /// <summary>A number of seconds.</summary>
    Seconds,

    /// <summary>An address to listen on.</summary>
    Address,

    /// <summary>Any text, as a name.</summary>
    Text,

    /// <summary>Texts between commas.</summary>
    List,

    /// <summary>The path of a file on this machine.</summary>
    File,

    /// <summary>The path of a folder on this machine.</summary>
    Folder,

    /// <summary>A path of the site.</summary>
    UrlPath,

    /// <summary>A rule in the form that <see cref="SiteOption.ValueForm"/> gives.</summary>
    Rule,
}
