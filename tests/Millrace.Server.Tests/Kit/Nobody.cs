namespace Millrace.Server.Tests.Kit;

/// <summary>The user with the fewest rights, for servers that stop being root.</summary>
internal static class Nobody
{
    public const uint Id = 65534;

    /// <summary>As <c>--user</c> takes it: no name, which a container's image may not know.</summary>
    public const string UserAndGroup = "65534:65534";

    /// <summary>What a folder needs so that this user can serve from it.</summary>
    public const UnixFileMode ForAll = UnixFileMode.UserRead | UnixFileMode.UserWrite | UnixFileMode.UserExecute
        | UnixFileMode.GroupRead | UnixFileMode.GroupExecute | UnixFileMode.OtherRead | UnixFileMode.OtherExecute;

    public static void RequireRoot() => Assert.SkipUnless(Environment.IsPrivilegedProcess, "Only root may become somebody else.");
}
