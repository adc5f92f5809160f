using System.Runtime.CompilerServices;

namespace Millrace.Acme.Tests.Kit;

/// <summary>All tests run in a time zone that is never UTC's: a time that is printed or stored as local fails.</summary>
internal static class TimeZone
{
    [ModuleInitializer]
    internal static void Set()
    {
        Environment.SetEnvironmentVariable("TZ", "Australia/Lord_Howe");
        TimeZoneInfo.ClearCachedData();
    }
}
