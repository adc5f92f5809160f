using System.Runtime.Versioning;
using Millrace.Server.Tests.Kit;

namespace Millrace.Server.Tests;

/// <summary>
/// The mistakes of a new user, each with the whole message: cause and remedy, in plain words. FOLDER is a folder with good and bad files.
/// </summary>
[SupportedOSPlatform("linux")]
public sealed class MistakeTests(MistakeTests.Files files) : IClassFixture<MistakeTests.Files>
{
    private const string Addresses = "Use 8080 (all interfaces), localhost:8080, 127.0.0.1:8080, [::1]:8080 or unix:/run/x.sock.";
    private const string Quotes = "write keys and texts in double quotes";

    [Theory]
    [InlineData("'--lisen' is not an option. Did you mean '--listen'?", "FOLDER", "--lisen", "8080")]
    [InlineData("'chek' is neither a folder nor a command. Did you mean 'millrace check'?", "chek")]
    [InlineData("Unexpected argument 'two'. Quote paths that contain spaces; 'millrace --help-all' lists all options.", "FOLDER", "two")]
    [InlineData("There is no folder '/no/app'. If it is the value of --spa, write --spa=/no/app.", "--spa", "/no/app")]
    [InlineData("The root 'FOLDER/none' does not exist. Create it or name another directory.", "FOLDER/none", "-p", "0")]
    [InlineData("The root 'FOLDER/page.html' is not a directory. Name the directory that holds the files.", "FOLDER/page.html", "-p", "0")]
    [InlineData("The configuration file 'FOLDER/none.json' does not exist. 'millrace init FOLDER/none.json' writes a starter file.", "--config", "FOLDER/none.json")]
    [InlineData("The configuration file 'FOLDER' cannot be read: it is a directory. Name the file itself.", "--config", "FOLDER")]
    [InlineData("FOLDER/empty:1:1: The file is empty: write { ... }, or see 'millrace init'.", "--config", "FOLDER/empty")]
    [InlineData($"FOLDER/quotes.json:1:3: JSON has no single quotes: {Quotes}.", "--config", "FOLDER/quotes.json")]
    [InlineData($"FOLDER/bare.json:1:3: Unexpected 'root': {Quotes}, with commas between them.", "--config", "FOLDER/bare.json")]
    [InlineData("FOLDER/type.json:1:14: listing must be true or false, not a string.", "--config", "FOLDER/type.json")]
    [InlineData($"--listen: '127.1:80' is not a valid address: '127.1' is not a complete IP address, and names other than localhost are not looked up. {Addresses}", "FOLDER", "--listen", "127.1:80")]
    [InlineData($"--listen: '127.0.0.1' is not a valid address: its port is missing. {Addresses}", "FOLDER", "--listen", "127.0.0.1")]
    [InlineData($"--listen: '::1:80' is not a valid address: an IPv6 address needs brackets. {Addresses}", "FOLDER", "--listen", "::1:80")]
    [InlineData("--port: '80800' is not a port. Use a number from 0 to 65535, or --listen for an address.", "FOLDER", "-p", "80800")]
    [InlineData("The certificate 'FOLDER/none.pem' does not exist: check its path.", "FOLDER", "--https", "--cert", "FOLDER/none.pem")]
    [InlineData("The certificate 'FOLDER' cannot be read: it is a directory. Name the file itself.", "FOLDER", "--https", "--cert", "FOLDER")]
    [InlineData("The certificate 'FOLDER/empty' is empty: copy the file again.", "FOLDER", "--https", "--cert", "FOLDER/empty")]
    [InlineData("'FOLDER/page.html' holds no certificate in PEM ('-----BEGIN CERTIFICATE-----'): give the file with the certificate and its chain.", "FOLDER", "--https", "--cert", "FOLDER/page.html")]
    [InlineData("The certificate 'FOLDER/cut.crt' is damaged: the block that begins in line 1 has no end ('-----END CERTIFICATE-----'). Copy the file again.", "FOLDER", "--https", "--cert", "FOLDER/cut.crt", "--key", "FOLDER/a.key")]
    [InlineData("'FOLDER/a.crt' holds a certificate but no private key: also name the file with its key (--key).", "FOLDER", "--https", "--cert", "FOLDER/a.crt")]
    [InlineData("'FOLDER/b.crt' holds a certificate but no private key: --key must name the file with the key.", "FOLDER", "--https", "--cert", "FOLDER/a.crt", "--key", "FOLDER/b.crt")]
    [InlineData("Each --cert needs one --key, in the same order: there are 1 and 2.", "FOLDER", "--https", "--cert", "FOLDER/a.crt", "--key", "FOLDER/a.key", "--key", "FOLDER/b.key")]
    [InlineData("Use one --key-password for all keys, or one for each --cert: there are 2 and 1.", "FOLDER", "--https", "--cert", "FOLDER/c.crt", "--key", "FOLDER/c.key", "--key-password", "FOLDER/users", "--key-password", "FOLDER/users")]
    [InlineData("'FOLDER/a.key' holds no certificate in PEM, but a private key: the certificate and its key may have been swapped.", "FOLDER", "--https", "--cert", "FOLDER/a.key", "--key", "FOLDER/a.crt")]
    [InlineData("The key in 'FOLDER/b.key' does not match the certificate in 'FOLDER/a.crt': give the key that the certificate was made for.", "FOLDER", "--https", "--cert", "FOLDER/a.crt", "--key", "FOLDER/b.key")]
    [InlineData("The key in 'FOLDER/c.key' is encrypted: name a file with its password (--key-password), or decrypt it with 'openssl pkey -in FOLDER/c.key -out FILE'.", "FOLDER", "--https", "--cert", "FOLDER/c.crt", "--key", "FOLDER/c.key")]
    [InlineData("The password in 'FOLDER/none' cannot be read: it does not exist. Name a file that this user may read.", "FOLDER", "--https", "--cert", "FOLDER/c.crt", "--key", "FOLDER/c.key", "--key-password", "FOLDER/none")]
    [InlineData("The file for TLS secrets 'FOLDER/none/k' cannot be written: the folder 'FOLDER/none' does not exist. Name a file in a folder that this user may write.", "FOLDER", "--https=localhost:0", "--cert", "FOLDER/a.crt", "--key", "FOLDER/a.key", "--tls-key-log", "FOLDER/none/k")]
    [InlineData("--cert has no effect without HTTPS: add --https (port 8443, this machine only) or --https 443.", "FOLDER", "--cert", "FOLDER/a.crt")]
    [InlineData("--acme has no effect without HTTPS: add --https (ports 443 and 80).", "FOLDER", "--acme", "a@example.org", "--domain", "example.org")]
    [InlineData("--dictionaries has no effect without HTTPS: add --https (port 8443, this machine only) or --https 443.", "FOLDER", "--dictionaries")]
    [InlineData("--client-field has no effect without a proxy to trust: add --trusted-proxy.", "FOLDER", "--client-field", "forwarded")]
    [InlineData("--forward-auth-copy has no effect without a service that decides on access: add --forward-auth.", "FOLDER", "--forward-auth-copy", "Remote-User")]
    [InlineData("--unix-mode has no effect without a unix socket: add --listen, for example unix:/run/millrace.sock.", "FOLDER", "--unix-mode", "660")]
    [InlineData("--key has no certificate: add --cert.", "FOLDER", "--https", "--key", "FOLDER/a.key")]
    [InlineData("--redirect: '/a /b 200' is not a redirect: its status is 200. Write 301 or another status, or use --rewrite.", "FOLDER", "--redirect", "/a /b 200")]
    [InlineData("--redirect: '/a /a' is a redirect to itself. Write another target.", "FOLDER", "--redirect", "/a /a")]
    [InlineData("--host: 'exa mple' is not a host name: it contains a space.", "FOLDER", "--host", "exa mple=FOLDER")]
    [InlineData("--host: 'a.*.org' is not a host name: a '*' may stand at the start only, as in *.example.org.", "FOLDER", "--host", "a.*.org=FOLDER")]
    [InlineData("--proxy: The URL of an upstream has a user or a password, which is not supported. Leave both out.", "FOLDER", "--proxy", "/ http://user:secret@127.0.0.1:5000")]
    [InlineData("--proxy: 'http://127.0.0.1:99999' has a port that is not between 1 and 65535. Write http://127.0.0.1:5000, https://app.example or unix:/run/app.sock.", "FOLDER", "--proxy", "/ http://127.0.0.1:99999")]
    [InlineData($"--listen: '300.1.1.1:80' is not a valid address: '300.1.1.1' is not a valid IP address. {Addresses}", "FOLDER", "--listen", "300.1.1.1:80")]
    [InlineData($"--listen: '*:80' is not a valid address: for all interfaces, write the port alone. {Addresses}", "FOLDER", "--listen", "*:80")]
    [InlineData("--user root gives up no rights: name a user other than root, or leave --user out.", "FOLDER", "-p", "0", "--user", "root")]
    [InlineData("The maintenance file 'FOLDER' is a directory. Name a file that exists during a maintenance only.", "FOLDER", "-p", "0", "--maintenance", "FOLDER")]
    [InlineData("There is no folder 'FOLDER/ste'. Did you mean 'FOLDER/site'?", "FOLDER/ste")]
    [InlineData("FOLDER/host.json:1:25: 'reactors' applies to the whole server: write 'engine.reactors' outside of 'hosts'.", "--config", "FOLDER/host.json")]
    [InlineData("FOLDER/port.json:1:14: 'https.port' is not an option. Did you mean 'https.listen'?", "--config", "FOLDER/port.json")]
    [InlineData("The socket 'FOLDER/none/m.sock' cannot be created: the folder 'FOLDER/none' does not exist. Use a path in a folder that exists and that this user may write.", "FOLDER", "--listen", "unix:FOLDER/none/m.sock")]
    [InlineData("'FOLDER/page.html' exists and is not a socket: remove it, or choose another path.", "FOLDER", "--listen", "unix:FOLDER/page.html")]
    [InlineData("The access log cannot be opened at FOLDER/none/a.log: the folder 'FOLDER/none' does not exist. Use a file in an existing folder, '-' or 'syslog'.", "FOLDER", "-p", "0", "--access-log", "FOLDER/none/a.log")]
    [InlineData("The access log cannot be opened at FOLDER: it is a directory. Use a file in an existing folder, '-' or 'syslog'.", "FOLDER", "-p", "0", "--access-log", "FOLDER")]
    [InlineData("'no-such-user' is not a known user: name another one, or create it with 'useradd --system no-such-user'.", "FOLDER", "-p", "0", "--user", "no-such-user")]
    [InlineData("'FOLDER/none/m.json' cannot be written: the folder 'FOLDER/none' does not exist. Choose another place.", "init", "FOLDER/none/m.json")]
    [InlineData("--realm has no effect without a password file: add --auth.", "FOLDER", "--realm", "Drafts")]
    [InlineData("--https-redirect needs an HTTP address to redirect from: add --listen, for example 80.", "FOLDER", "--https", "--https-redirect")]
    [InlineData("--reactors: 'two' is not valid: use a number from 0 to 1024.", "FOLDER", "--reactors", "two")]
    [InlineData("--drain: '-1' is not valid: use a number of seconds from 0 to 86400.", "FOLDER", "--drain", "-1")]
    [InlineData("--cache-memory: 'lots' is not a size. Use a number of bytes such as 4096, or 64k, 256m, 1g.", "FOLDER", "--cache-memory", "lots")]
    [InlineData("--listing: 'maybe' is neither on nor off. Write on or off.", "FOLDER", "--listing=maybe")]
    [InlineData("--backend: 'epool' is not a backend. Use auto, io_uring or epoll.", "FOLDER", "--backend", "epool")]
    [InlineData("--spa: 'app' is not a path of the site. Write it from the root, such as /index.html.", "FOLDER", "--spa=app")]
    [InlineData("--header: 'nocolon' is not a field. Write 'Name: value', or 'GLOB=Name: value' for some paths.", "FOLDER", "--header", "nocolon")]
    [InlineData("--redirect: The rule for '/a' has no target. Add one, such as /new.", "FOLDER", "--redirect", "/a")]
    [InlineData("--mime: 'wasm' is incomplete. Write EXT=TYPE, such as 'wasm=application/wasm'.", "FOLDER", "--mime", "wasm")]
    [InlineData("--error-page: 'x=/y' is not a page for an error status. Write STATUS=PATH, such as 404=/missing.html.", "FOLDER", "--error-page", "x=/y")]
    [InlineData("--host: 'a.example' is not a host with a folder: use example.org=./folder or '*.example.org=./folder'.", "FOLDER", "--host", "a.example")]
    [InlineData("The password file 'FOLDER/none' does not exist. Create it with 'htpasswd -B -c FILE USER'.", "FOLDER", "--auth", "FOLDER/none", "-p", "0")]
    [InlineData("FOLDER/users:1 has a plain password or a DES hash. Make a new one with 'htpasswd -B FILE USER', or with 'mkpasswd' and an editor.", "FOLDER", "--auth", "FOLDER/users", "-p", "0")]
    [InlineData("--user: 'a:b:c' is not a valid user: use NAME or NAME:GROUP.", "FOLDER", "--user", "a:b:c")]
    [InlineData("--trusted-proxy: '10.1/8' is not a network. Use a network such as 10.0.0.0/8 or 2001:db8::/32, a single address, or 'unix'.", "FOLDER", "--trusted-proxy", "10.1/8")]
    [InlineData("--unix-mode: '999' is not a file mode: use 0660, for example.", "FOLDER", "--unix-mode", "999")]
    [InlineData("--access-log: The destination is missing. Use a file, '-' or 'syslog'.", "FOLDER", "--access-log", "")]
    [InlineData("--admin-host: 'http://x' is not a valid host name: omit scheme and port.", "FOLDER", "--admin", "0", "--admin-host", "http://x")]
    [InlineData("--listen: [::]:8081 is used twice: give each address or port once.", "FOLDER", "--listen", "8081", "--listen", ":8081")]
    [InlineData("--https: 127.0.0.1:8081 is used twice: give each address or port once.", "FOLDER", "-p", "8081", "--https", "localhost:8081")]
    [InlineData("--admin: 127.0.0.1:8081 is used twice: give each address or port once.", "FOLDER", "--listen", "8081", "--admin", "8081")]
    [InlineData("--admin: 127.0.0.1:8081 is used twice: give each address or port once.", "FOLDER", "--listen", "127.0.0.1:8081", "--admin", "8081")]
    [InlineData("--admin: 127.0.0.1:8081 is used twice: give each address or port once.", "FOLDER", "--https", "127.0.0.1:8081", "--admin", "8081")]
    [InlineData("--admin: the sites are served on 127.0.0.1:8080 by default: use another address.", "FOLDER", "--admin", "8080")]
    [InlineData("--admin: the sites are served on 127.0.0.1:8080 by default: use another address.", "FOLDER", "--admin", "0.0.0.0:8080")]
    [InlineData($"--listen: 'http://localhost:8081' is not a valid address: it is a URL. {Addresses}", "FOLDER", "--listen", "http://localhost:8081")]
    [InlineData($"--listen: 'http://localhost' is not a valid address: it is a URL. {Addresses}", "FOLDER", "--listen", "http://localhost")]
    [InlineData("--keep-alive-timeout: '75s' is not valid: use a number of seconds from 1 to 86400.", "FOLDER", "--keep-alive-timeout", "75s")]
    [InlineData("--head-max: '10' is not valid: use a number of bytes from 1024 to 1048576.", "FOLDER", "--head-max", "10")]
    [InlineData("--cache-memory: '99999999999g' is too large. Use a number of bytes such as 4096, or 64k, 256m, 1g.", "FOLDER", "--cache-memory", "99999999999g")]
    [InlineData("--cache-control: 'max-age=5' is a value without paths. For all paths write '*=max-age=5'.", "FOLDER", "--cache-control", "max-age=5")]
    [InlineData("--redirect: 999 is not a status for rules. Write 200, 301, 302, 303, 307, 308, 404 or 410.", "FOLDER", "--redirect", "/a /b 999")]
    [InlineData("One argument is empty: check the variables of the shell on this line.", "FOLDER", "--cors", "")]
    [InlineData("'millrace precompress' needs DIR: the folder, including all its subfolders.", "precompress")]
    [InlineData("The root 'FOLDER/a\\x0ab' does not exist. Create it or name another directory.", "FOLDER/a\nb", "-p", "0")]
    [InlineData("The root 'FOLDER' has more directory entries than the limit, 1. Raise it (--entries-max), or look for symlinks between directories.", "FOLDER", "-p", "0", "--entries-max", "1")]
    [InlineData("'FOLDER/page.html' holds no certificates of authorities in PEM ('-----BEGIN CERTIFICATE-----'): give the file with the authority's certificate.", "FOLDER", "--https", "--cert", "FOLDER/a.crt", "--key", "FOLDER/a.key", "--client-ca", "FOLDER/page.html")]
    [InlineData("The key in 'FOLDER/c.key' cannot be decrypted with the given password: check that both belong together.", "FOLDER", "--https", "--cert", "FOLDER/c.crt", "--key", "FOLDER/c.key", "--key-password", "FOLDER/page.html")]
    [InlineData("--proxy-protocol: 8081 means all interfaces ([::]:8081), which is not an address of --listen or --https. Write 127.0.0.1:8081, or --proxy-protocol alone for all.", "FOLDER", "-p", "8081", "--proxy-protocol", "8081", "--trusted-proxy", "10.0.0.0/8")]
    [InlineData("--proxy-protocol: 127.0.0.1:8082 is not an address of --listen or --https: name one that is.", "FOLDER", "-p", "8081", "--proxy-protocol", "127.0.0.1:8082", "--trusted-proxy", "10.0.0.0/8")]
    [InlineData("The folder for certificates 'FOLDER/page.html' is a file: name a folder with --acme-dir.", "FOLDER/site", "--https=localhost:0", "--acme", "none", "--domain", "a.example", "--acme-dir", "FOLDER/page.html")]
    [InlineData("The file of the external account 'FOLDER/none' cannot be read: it does not exist. Name a file that this user may read.", "FOLDER/site", "--https=localhost:0", "--acme", "none", "--domain", "a.example", "--acme-dir", "FOLDER/acme", "--acme-eab", "FOLDER/none")]
    [InlineData("'FOLDER' is a directory: name a file, such as millrace.json.", "init", "FOLDER")]
    [InlineData("--dictionary-max-file: '9m' is too large. Use at most 8m.", "FOLDER", "--dictionary-max-file", "9m")]
    [InlineData("The folder for dictionaries 'FOLDER/site/x' is in the root 'FOLDER/site'. Name a folder outside of it (--dictionary-dir).", "FOLDER/site", "--https", "--dictionaries", "--dictionary-dir", "FOLDER/site/x")]
    [InlineData("--redirect: The target '/:splat' uses ':splat', which the rule does not capture. Put a '*' into FROM, whose match is ':splat', or write a literal colon as %3A.", "FOLDER", "--redirect", "/a /:splat")]
    [InlineData("--redirect: The target '/:id' uses ':id', which the rule does not capture. Put ':id' into FROM, or write a literal colon as %3A.", "FOLDER", "--redirect", "/a /:id")]
    [InlineData("--proxy needs a value: write --proxy 'PATH[!] TARGET... [host=upstream]'.", "FOLDER", "--proxy")]
    [InlineData("--allow needs a value: write --allow '[GLOB=]CIDR,...'.", "FOLDER", "--allow")]
    [InlineData("--trusted-proxy: '10.0.0.1/8' has bits after its prefix. Write 10.0.0.0/8.", "FOLDER", "--trusted-proxy", "10.0.0.1/8")]
    [InlineData("--trusted-proxy: '2001:db8::1/32' has bits after its prefix. Write 2001:db8::/32.", "FOLDER", "--trusted-proxy", "2001:db8::1/32")]
    [InlineData("--allow: '10.0.0.1/8' has bits after its prefix. Write 10.0.0.0/8.", "FOLDER", "--allow", "10.0.0.1/8")]
    [InlineData("--deny: '2001:db8::1/32' has bits after its prefix. Write 2001:db8::/32.", "FOLDER", "--deny", "2001:db8::1/32")]
    [InlineData("--proxy-via has no effect without an application: add --proxy.", "FOLDER", "--proxy-via")]
    [InlineData("--proxy-forwarded has no effect without an application: add --proxy.", "FOLDER", "--proxy-forwarded", "forwarded")]
    [InlineData("--proxy-timeout has no effect without an application: add --proxy.", "FOLDER", "--proxy-timeout", "5")]
    [InlineData("--proxy-ca has no effect without an application with https: add --proxy.", "FOLDER", "--proxy-ca", "FOLDER/none", "--proxy", "/a/* http://127.0.0.1:1")]
    [InlineData("--rate-limit-memory has no effect without a limit of requests: add --rate-limit.", "FOLDER", "--rate-limit-memory", "1m")]
    [InlineData("'nope' is not a command: use serve, check, init, schema, precompress, doctor, probe, completions, man, help or version.", "help", "nope")]
    public async Task A_mistake_has_cause_and_remedy(string message, params string[] arguments) =>
        await AssertSaidAsync(2, message, arguments);

    [Theory]
    [InlineData("192.0.2.1:80 is not an address of this machine: use one of its addresses, or a port alone for all.", "FOLDER", "--listen", "192.0.2.1:80")]
    public async Task What_the_host_refuses_has_cause_and_remedy(string message, params string[] arguments) =>
        await AssertSaidAsync(1, message, arguments);

    [Theory]
    [InlineData("MILLRACE_LISTN=1", "MILLRACE_LISTN is not an option. Did you mean MILLRACE_LISTEN?")]
    [InlineData("MILLRACE_REACTORS=two", "MILLRACE_REACTORS: 'two' is not valid: use a number from 0 to 1024.")]
    [InlineData("MILLRACE_ACME=none", "MILLRACE_ACME has no effect without HTTPS: add MILLRACE_HTTPS, for example 443.", "MILLRACE_DOMAIN=a.example")]
    [InlineData("MILLRACE_ACME=none", "MILLRACE_ACME needs a host to obtain a certificate for: add MILLRACE_DOMAIN, for example example.org.", "MILLRACE_HTTPS=443")]
    [InlineData("MILLRACE_ENTRIES_MAX=1", "The root 'FOLDER' has more directory entries than the limit, 1. Raise it (MILLRACE_ENTRIES_MAX), or look for symlinks between directories.", "MILLRACE_LISTEN=localhost:0")]
    [InlineData("MILLRACE_REDIRECT=/a /b 200", "MILLRACE_REDIRECT: '/a /b 200' is not a redirect: its status is 200. Write 301 or another status, or use MILLRACE_REWRITE.")]
    public async Task A_mistake_in_the_environment_is_named(string variable, string message, params string[] others)
    {
        ToolResult result = await Tool.RunAsync("/usr/bin/env", [variable, .. others, Publication.Program, files.Root]);
        Assert.Equal(new ToolResult(2, "", $"millrace: {files.Filled(message)}\n"), result);
    }

    /// <summary>Also what a library refuses, which knows flags only.</summary>
    [Theory]
    [InlineData("The root 'FOLDER/.' has more directory entries than the limit, 1. Raise it (entries-max), or look for symlinks between directories.", """{ "entries-max": 1, "listen": "localhost:0", "root": "." }""")]
    [InlineData("The key in 'FOLDER/c.key' is encrypted: name a file with its password (https.key-password), or decrypt it with 'openssl pkey -in FOLDER/c.key -out FILE'.", """{ "https": { "listen": "localhost:0", "cert": "c.crt", "key": "c.key" } }""")]
    [InlineData("'FOLDER/a.crt' holds a certificate but no private key: also name the file with its key (https.key).", """{ "https": { "listen": "localhost:0", "cert": "a.crt" } }""")]
    [InlineData("The folder for certificates 'FOLDER/page.html' is a file: name a folder with acme.directory.", """{ "https": { "listen": "localhost:0" }, "acme": { "email": "none", "domains": "a.example", "directory": "page.html" } }""")]
    [InlineData("FOLDER/m.json:1:42: acme.email needs a host to obtain a certificate for: add acme.domains, for example example.org.", """{ "https": { "listen": true }, "acme": { "email": "none" } }""")]
    [InlineData("FOLDER/m.json:1:13: acme.email has no effect without HTTPS: add https.listen: true (ports 443 and 80).", """{ "acme": { "email": "none", "domains": "a.example" } }""")]
    [InlineData("FOLDER/m.json:1:22: dictionaries needs compress: true.", """{ "compress": false, "dictionaries": true, "https": { "listen": true } }""")]
    [InlineData("FOLDER/m.json:1:15: redirect: '/a /b 200' is not a redirect: its status is 200. Write 301 or another status, or use rewrite.", """{ "redirect": "/a /b 200" }""")]
    public async Task A_message_names_options_as_the_file_does(string message, string text)
    {
        string file = Path.Combine(files.Root, "m.json");
        await File.WriteAllTextAsync(file, text, TestContext.Current.CancellationToken);
        await AssertSaidAsync(2, message, ["--config", file]);
    }

    [Theory]
    [InlineData("The root 'FOLDER/closed' cannot be read by this user. Grant read and search permission on it and its parents.", "FOLDER/closed", "-p", "0")]
    [InlineData("The certificate 'FOLDER/closed/a.crt' cannot be read: this user has no permission. Let this user read it.", "FOLDER/site", "--https=localhost:0", "--cert", "FOLDER/closed/a.crt")]
    [InlineData("The password file 'FOLDER/closed/users' may not be read by this user. Grant read permission on it and search permission on its parents.", "FOLDER/site", "-p", "0", "--auth", "FOLDER/closed/users")]
    [InlineData("The socket 'FOLDER/closed/m.sock' cannot be created: this user has no permission. Use a path in a folder that exists and that this user may write.", "FOLDER/site", "--listen", "unix:FOLDER/closed/m.sock")]
    [InlineData("The access log cannot be opened at FOLDER/closed/a.log: this user has no permission. Use a file in an existing folder, '-' or 'syslog'.", "FOLDER/site", "-p", "0", "--access-log", "FOLDER/closed/a.log")]
    [InlineData("'FOLDER/closed/m.json' cannot be written: this user has no permission. Choose another place.", "init", "FOLDER/closed/m.json")]
    [InlineData("The configuration file 'FOLDER/closed/m.json' cannot be read: this user has no permission. Let this user read it.", "--config", "FOLDER/closed/m.json")]
    [InlineData("The folder for certificates 'FOLDER/closed/acme' cannot be created: this user has no permission. Name a folder that this user may write (--acme-dir).", "FOLDER/site", "--https=localhost:0", "--acme", "none", "--domain", "a.example", "--acme-dir", "FOLDER/closed/acme")]
    public async Task What_a_permission_forbids_is_the_hosts_refusal(string message, params string[] arguments)
    {
        Tool.Require("setpriv");
        Nobody.RequireRoot();
        ToolResult result = await Tool.RunAsync(
            "setpriv",
            [
                "--reuid=65534", "--regid=65534", "--clear-groups", "--bounding-set=-all", Publication.Program,
                .. arguments.Select(files.Filled),
            ]);
        Assert.Equal(new ToolResult(1, "", $"millrace: {files.Filled(message)}\n"), result);
    }

    [Fact]
    public async Task A_missing_capability_has_the_next_step()
    {
        Tool.Require("setpriv");
        Nobody.RequireRoot();
        Assert.SkipUnless(
            int.Parse(await File.ReadAllTextAsync("/proc/sys/net/ipv4/ip_unprivileged_port_start", TestContext.Current.CancellationToken)) > 80,
            "Every user may bind port 80 here.");
        ToolResult result = await Tool.RunAsync(
            "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--bounding-set=-all",
            Publication.Program, Places.SampleSite, "--listen", "127.0.0.1:80");

        Assert.Equal(1, result.ExitCode);
        Assert.Equal(
            "millrace: 127.0.0.1:80 may not be bound by this user: ports below 1024 need CAP_NET_BIND_SERVICE. Choose a higher port, or grant "
                + $"it: 'sudo setcap cap_net_bind_service=+ep {Publication.Program}', or AmbientCapabilities=CAP_NET_BIND_SERVICE in a systemd "
                + "unit.\n",
            result.Error);
    }

    private async Task AssertSaidAsync(int exitCode, string message, string[] arguments)
    {
        ToolResult result = await Tool.RunAsync(Publication.Program, [.. arguments.Select(files.Filled)]);
        Assert.Equal(new ToolResult(exitCode, "", $"millrace: {files.Filled(message)}\n"), result);
    }

    /// <summary>A folder with a page, certificates and files that cannot be used.</summary>
    public sealed class Files : IDisposable
    {
        private readonly TempFolder _folder = new();

        public Files()
        {
            _folder.WriteText("page.html", "hello");
            _folder.WriteText("empty", "");
            _folder.WriteText("users", "user:plain\n");
            _folder.WriteText("quotes.json", "{ 'root': 1 }");
            _folder.WriteText("bare.json", "{ root: 1 }");
            _folder.WriteText("type.json", "{ \"listing\": \"yes\" }");
            _folder.WriteText("host.json", "{ \"hosts\": { \"a.org\": { \"reactors\": 1, \"root\": \".\" } } }");
            _folder.WriteText("port.json", "{ \"https\": { \"port\": 443 } }");
            Directory.CreateDirectory(_folder.PathOf("site"));
            File.SetUnixFileMode(_folder.Root, Nobody.ForAll);
            Directory.CreateDirectory(_folder.PathOf("closed"), UnixFileMode.UserRead | UnixFileMode.UserWrite | UnixFileMode.UserExecute);
            OwnCertificate.Make(_folder, "a", "a.example");
            OwnCertificate.Make(_folder, "b", "b.example");
            OwnCertificate.MakeEncrypted(_folder, "c", "secret", "c.example");
            _folder.WriteText("cut.crt", File.ReadAllText(_folder.PathOf("a.crt"))[..300]);
        }

        public string Root => _folder.Root;

        public string Filled(string text) => text.Replace("FOLDER", _folder.Root, StringComparison.Ordinal);

        public void Dispose() => _folder.Dispose();
    }
}
