namespace Millrace.Conformance.Tests.Kit;

/// <summary>
/// An htpasswd file with the hashes that the tool of that name and crypt(3) make. All but two passwords are
/// <c>secret</c>.
/// </summary>
internal static class Passwords
{
    public static readonly IReadOnlyDictionary<string, string> All = new Dictionary<string, string>(StringComparer.Ordinal)
    {
        ["bcrypt"] = "secret",
        ["sha512"] = "secret",
        ["colon"] = "se:cret",
        ["utf8"] = "geheimß",
    };

    public const string File =
        """
        # comment

        bcrypt:$2y$05$abcdefghijklmnopqrstuuOQiyCxlgf/oeuTqixKmWdcYUh4Hjl0a
        sha512:$6$rounds=1000$saltsalt$LAV5VE5Y7w1d73x1mFNspYWUpazfmwv2SoepNXNKJ/otop/Zok96Hr8Q13LEv0DRY/x8v0/crpIjl8NJSAqXV/
        colon:$6$rounds=1000$saltsalt$CbZcWj9a9hV8YQeq/mZiqjGPmcwCOB4QMYOfb2ttLSo0V2jrW37gsDmXfurWupMroVr1LQsL7g4lp3xfc0Jj4.
        utf8:$6$rounds=1000$saltsalt$FSCXLw.MblkZ7L2Wl9tM52EvY68lAaxZydacagV5gEMT9zZdTZOgnW5pRm1OxmhZvfjsXDvkBTJ3ws1yMFN8S0

        """;
}
