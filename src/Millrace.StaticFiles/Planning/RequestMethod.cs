namespace Millrace.StaticFiles.Planning;

/// <summary>A method as far as a static site cares.</summary>
internal enum RequestMethod
{
    /// <summary>A token this server does not know for any resource.</summary>
    Unknown,

    Get,

    Head,

    Options,

    /// <summary>A registered method that no file takes: POST, PUT, DELETE, TRACE and the like.</summary>
    Other,
}
